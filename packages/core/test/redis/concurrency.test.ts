// Many connections for one key on one server. That processes with clocks of their own share a limit
// exactly is a row of the fault matrix (internal/fleet); whose clock decides, see calendar.test.ts.

import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  fixedWindow,
  lockout,
  RateLimiter,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import type { PolicyInput } from '../../src/policy-input.js'
import { keysWithoutTtl } from './no-key-for-ever.js'
import { patientClient, stillStore } from './patient.js'
import { callsOf } from './stats.js'

const CONNECTIONS = 40
const limit = 1_000

/** One of each kernel that counts units, with windows that do not end during a test. */
const POLICIES: Readonly<Record<string, PolicyInput>> = {
  tokenBucket: tokenBucket({ capacity: limit, refill: 1, every: '1h' }),
  fixedWindow: fixedWindow({ limit, window: '1h' }),
  slidingLog: slidingLog({ limit, window: '1h' }),
  slidingCounter: slidingCounter({ limit, window: '3650d' }),
  lockout: lockout({ limit, window: '1h', block: ['1h'], forget: '1d' }),
  severalPolicies: [
    slidingLog({ limit, window: '1h' }),
    fixedWindow({ limit: limit + 500, window: '1h' }),
    slidingCounter({ limit: 2 * limit, window: '3650d' }),
  ],
}
const COUNTING = fixedWindow({ name: 'counting', limit: 2 ** 40, window: '1h' })

let server: RedisServer
let clients: Redis[]
beforeAll(async () => {
  // A separate server, whose statistics contain only this test.
  server = await startRedis()
  clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => patientClient(server.port)))
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.stop()
})

/** Sends `requests` over each connection, `inFlight` at a time. Returns how many were granted. */
async function hammer(policy: PolicyInput, prefix: string, requests: number, inFlight: number) {
  let granted = 0
  const runs = clients.map((client) => {
    const store = stillStore(client, { prefix })
    const limiter = new RateLimiter({ name: 'hammer', store, policy, shared: true })
    let left = requests
    const run = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        if ((await limiter.consume('key')).allowed) granted += 1
      }
    }
    return Promise.all(Array.from({ length: inFlight }, run))
  })
  await Promise.all(runs)
  return granted
}

test.each(Object.entries(POLICIES))(
  '%s admits exactly the limit, alone and when requests share calls',
  async (name, policy) => {
    for (const inFlight of [1, 10]) {
      await server.command('CONFIG', 'RESETSTAT')
      expect(await hammer(policy, `${name}-${inFlight}`, 50, inFlight)).toBe(limit)
      const { evalsha, eval: evals = 0 } = await callsOf(server)
      // The script is sent once for each connection that found the server without it.
      expect(evals).toBeLessThanOrEqual(CONNECTIONS)
      if (inFlight === 1) expect(evalsha).toBe(50 * CONNECTIONS)
      else expect(evalsha).toBeLessThan(50 * CONNECTIONS)
    }
  },
)

// This has the effect of a restart or a failover on a server's scripts.
test.each([
  ['one request a connection', 60, 1],
  ['requests that share calls', 600, 20],
])(
  'every request is counted once while scripts are flushed: %s',
  async (name, requests, shared) => {
    const prefix = name.replaceAll(' ', '-')
    await server.command('CONFIG', 'RESETSTAT')
    const hammering = hammer(COUNTING, prefix, requests, shared)
    const done = hammering.then(() => true)
    while (!(await Promise.race([done, sleep(2, false)]))) await server.command('SCRIPT', 'FLUSH')
    expect(await hammering).toBe(CONNECTIONS * requests)
    const state = await server.command('GET', `${prefix}:{key}:hammer:counting:fixed1-1h`)
    expect(String(state).split(':')[0]).toBe(String(CONNECTIONS * requests))
    const { eval: evals = 0, 'script|flush': flushes = 0 } = await callsOf(server)
    expect(flushes).toBeGreaterThan(5)
    expect(evals).toBeGreaterThan(flushes / 2)
  },
)

test('no key was left without a TTL', async () => {
  expect(await server.command('DBSIZE')).toBeGreaterThan(0)
  expect(await keysWithoutTtl(server)).toEqual([])
})
