// A record of what 2d54f0d wrote to Redis, and what it answered, so that processes of both versions
// can use the same keys while a fleet is updated. RECORD=1 adds what is not recorded yet.
//
// Each line begins with the ids of its kernels. Whether a released id stores something else is what
// internal/fleet/src/versions asks of the last release.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { gcra, leakyBucket, tokenBucket } from '../../src/algorithms/bucket/policies.js'
import { concurrency } from '../../src/algorithms/concurrency/policies.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/policies.js'
import { lockout } from '../../src/algorithms/lockout/policies.js'
import type { Policy } from '../../src/algorithms/policy.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../src/algorithms/sliding-log/policies.js'
import { EPOCH_MS } from '../../src/base/clock.js'
import { prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat, keysOf } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { singleClient } from './clients.js'
import { type Verdict, verdictsOf } from './verdicts.js'

const record = fileURLToPath(new URL('stored-state.jsonl', import.meta.url))
const START_MS = EPOCH_MS + 1_000 * 86_400_000
const name = 'p'
const window = '10s'

const recorded: Readonly<Record<string, readonly Policy[]>> = {
  'token bucket': [tokenBucket({ name, capacity: 20, refill: 7, every: '3s' })],
  gcra: [gcra({ name, limit: 30, period: '10s', burst: 5 })],
  'leaky bucket': [leakyBucket({ name, capacity: 12, leak: 5, every: '4s' })],
  'fixed window': [fixedWindow({ name, limit: 25, window })],
  'calendar window': [fixedWindow({ name, limit: 25, window: 'month', timeZone: 'Europe/Paris' })],
  'sliding counter': [slidingCounter({ name, limit: 25, window })],
  'sliding log': [slidingLog({ name, limit: 25, window })],
  'sliding window': [slidingWindow({ name, limit: 25, window })],
  'lock-out': [lockout({ name, limit: 5, window, block: ['2s', '5s'], forget: '20s' })],
  slots: [concurrency({ name, limit: 9, holdTimeout: '6s' })],
  'two of one decision': [
    fixedWindow({ name: 'burst', limit: 9, window: '2s' }),
    slidingLog({ name: 'quota', limit: 25, window }),
  ],
}

/** Algorithms that came later, by their names. */
const later = Object.values(policyFactories)
  .map(({ of }) => [of(25, window, name)])
  .filter(([made]) =>
    Object.values(recorded).every(([one]) => one?.kernel?.id !== made?.kernel?.id),
  )
  .map((made) => [made[0]?.algorithm as string, made] as const)

const policies = { ...recorded, ...Object.fromEntries(later) }

const MODES = ['consume', 'consume', 'consume', 'peek', 'penalty', 'refund', 'settle'] as const

test.each(Object.entries(policies))(
  '%s: counts continue from what an earlier version stored, and the stored form is the same',
  async (algorithm, list) => {
    const client = singleClient()
    const prefix = `stored-${process.pid}-${algorithm.replaceAll(' ', '-')}`
    const prepared = prepareScript(keyFormat(prefix), makePolicySet('stored', list))
    const target = { policySet: prepared.policySet, key: 'k' }
    const keys = keysOf(prepared.names, target, [])
    const label = `${list.map(({ kernel }) => kernel?.id).join('+')} ${algorithm}`
    const random = drawing(algorithm.length)
    let atMs = START_MS
    const steps: unknown[] = []
    for (let step = 0; step < 40; step += 1) {
      atMs += [0, 1, 130, 700, 4_100][random(5)] as number
      const mode = MODES[random(MODES.length)] as (typeof MODES)[number]
      const cost = mode === 'settle' ? random(9) - 4 : 1 + random(4)
      const group = { ...target, costs: list.map(() => cost), count: 1, untilUs: undefined }
      const { verdicts } = await verdictsOf(client, prepared, mode, [group], atMs * 1_000)
      const { granted, readings } = verdicts[0] as Exclude<Verdict, Error>
      const numbers = readings.map(({ left, waitMs, resetUs }) => [left, String(waitMs), resetUs])
      const stored = await Promise.all(keys.map((key) => storedAt(client, key)))
      steps.push([label, mode, cost, atMs - START_MS, granted, numbers, stored])
    }
    const lines = steps.map((step) => JSON.stringify(step))
    const known = readFileSync(record, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith(`["${label}"`))
    if (process.env.RECORD && known.length === 0)
      writeFileSync(record, `${lines.join('\n')}\n`, { flag: 'a' })
    else expect(lines).toEqual(known)
  },
)

async function storedAt(client: Redis, key: string): Promise<unknown> {
  const type = await client.type(key)
  if (type === 'string') return client.get(key)
  if (type === 'list') return client.lrange(key, 0, -1)
  if (type === 'hash') return client.hgetall(key)
  return type
}

/** A linear congruential generator (Numerical Recipes, 7.1): the same draws in each run. */
function drawing(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
