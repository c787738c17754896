// Which proxies a platform trusts with a client's address.

import { FastifyAdapter } from '@nestjs/platform-fastify'
import { describe, expect, test } from 'vitest'
import { trustOf } from '../src/trust.js'

/** Express's setting, and the function that it compiles to. */
function express(setting: unknown, trusts: unknown): Parameters<typeof trustOf>[0] {
  const settings: Record<string, unknown> = { 'trust proxy': setting, 'trust proxy fn': trusts }
  return { app: { get: (name: string) => settings[name] } }
}

function fastify(trustProxy: unknown): Parameters<typeof trustOf>[0] {
  return { server: new FastifyAdapter({ trustProxy } as never).getInstance() }
}

describe('a function is asked about addresses that no proxy has', () => {
  const all = () => true
  const own = (address: string) => address.startsWith('10.')
  const hops = (_: string, hop: number) => hop < 2

  test.each([
    ['Express', 'everybody', express(all, all)],
    ['Express', 'listed', express(own, own)],
    ['Express', 'listed', express(2, hops)],
    ['Express', 'nobody', express(false, () => false)],
    ['Express', 'everybody', express(true, all)],
    ['Fastify', 'everybody', fastify(all)],
    ['Fastify', 'listed', fastify(own)],
    ['Fastify', 'listed', fastify('10.0.0.0/8')],
    ['Fastify', 'everybody', fastify(true)],
    ['Fastify', 'nobody', fastify(false)],
  ])('%s: %s', (_, trust, request) => {
    expect(trustOf(request)).toBe(trust)
  })
})
