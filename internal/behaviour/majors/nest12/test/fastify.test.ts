// Which proxies Fastify trusts with a client's address.

import { FastifyAdapter } from '@nestjs/platform-fastify'
import { expect, test } from 'vitest'
import { trustOf } from '../../../../../packages/nest/src/trust.js'

test.each<[string, unknown]>([
  ['everybody', () => true],
  ['listed', (address: string) => address.startsWith('10.')],
  ['listed', '10.0.0.0/8'],
  ['everybody', true],
  ['nobody', false],
])('%s, with %s', (trust, trustProxy) => {
  const server = new FastifyAdapter({ trustProxy } as never).getInstance()
  expect(trustOf({ server } as never)).toBe(trust)
})
