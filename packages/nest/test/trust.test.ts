// Which proxies a platform trusts with a client's address.

import { describe, expect, test } from 'vitest'
import { trustOf } from '../src/trust.js'

/** Express's setting, and the function that it compiles to. */
function express(setting: unknown, trusts: unknown): Parameters<typeof trustOf>[0] {
  const settings: Record<string, unknown> = { 'trust proxy': setting, 'trust proxy fn': trusts }
  return { app: { get: (name: string) => settings[name] } }
}

describe('a function is asked about addresses that no proxy has', () => {
  const all = () => true
  const own = (address: string) => address.startsWith('10.')
  const hops = (_: string, hop: number) => hop < 2

  test.each([
    ['everybody', express(all, all)],
    ['listed', express(own, own)],
    ['listed', express(2, hops)],
    ['nobody', express(false, () => false)],
    ['everybody', express(true, all)],
  ])('%s', (trust, request) => {
    expect(trustOf(request)).toBe(trust)
  })
})
