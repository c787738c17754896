// The memory store compared with ledgers that store each charge separately: random walks of
// consume, wait, leave, settle, refund, and as many as there are. That Redis decides the same is
// shown by redis/differential.test.ts.
//
// WEIR_WEEKLY=1 takes 100,000 steps of each algorithm, from a seed that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import { expect, test } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  type Policy,
  slidingCounter,
  slidingLog,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { ConsumeRequest, StoreRequest, StoreResult } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'
import {
  bucketLedger,
  type Charge,
  fixedWindowLedger,
  type Ledger,
  leastMs,
  slidingCounterLedger,
  slidingLogLedger,
} from './ledgers.js'

const STEPS = stepsOf(1_000, 100_000)
const SEED = seedOf(1)
const STEPS_OF_WALK = 50
const LIMIT = 6
const SPAN_MS = 1_000
const UNIT_MS = 100
const MAX_WAIT_MS = 1_500

const subjects: [string, Policy, () => Ledger][] = [
  [
    'fixed window',
    fixedWindow({ name: 'p', limit: LIMIT, window: SPAN_MS }),
    () => fixedWindowLedger(SPAN_MS),
  ],
  [
    'sliding log',
    slidingLog({ name: 'p', limit: LIMIT, window: SPAN_MS }),
    () => slidingLogLedger(SPAN_MS),
  ],
  [
    'sliding counter',
    slidingCounter({ name: 'p', limit: LIMIT, window: SPAN_MS }),
    () => slidingCounterLedger(SPAN_MS),
  ],
  [
    'bucket',
    leakyBucket({ name: 'p', capacity: LIMIT, leak: 10, every: '1s', maxWait: MAX_WAIT_MS }),
    () => bucketLedger(LIMIT, UNIT_MS, MAX_WAIT_MS),
  ],
]

interface Taken {
  readonly charge: Charge
  readonly result: StoreResult
}

test.each(subjects)(
  `%s is counted as by a ledger, in ${STEPS} random steps`,
  {
    timeout: 120_000 + STEPS * 20,
  },
  async (_, policy, makeLedger) => {
    const seen = { granted: 0, denied: 0, waited: 0, gaveBack: 0, charged: 0, left: 0 }
    let steps = 0
    for (let walk = 0; steps < STEPS; walk += 1) {
      const seed = SEED * 1_000_003 + walk
      const random = randomFrom(seed)
      const pick = (below: number) => Math.floor(random() * below)
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const ledger = makeLedger()
      const target = { policySet: makePolicySet('ledgers', [policy]), key: 'k' }
      const taken: Taken[] = []
      const nowMs = () => clock.nowUs() / 1_000
      const fits = (units: number, waitMs = 0) => ledger.used(nowMs() + waitMs) + units <= LIMIT
      const waitFor = (units: number) => leastMs(10 * SPAN_MS, (waitMs) => fits(units, waitMs))

      const ask = async (request: Partial<StoreRequest>): Promise<StoreResult> =>
        store.decide({ target, count: 1, ...request } as StoreRequest)
      const isAsCounted = (result: StoreResult) => {
        const usedAfter = ledger.used(nowMs())
        expect(result.policies[0]).toMatchObject({
          remaining: Math.max(0, LIMIT - usedAfter),
          resetAfterMs: leastMs(10 * SPAN_MS, (waitMs) => ledger.used(nowMs() + waitMs) === 0),
        })
      }
      /** Takes what the ledger allows, and nothing else. */
      const takes = async (request: Partial<ConsumeRequest>, units: number, least: number) => {
        const result = await ask({ mode: 'consume', ...request })
        expect(result.granted * (request.costs?.[0] as number)).toBe(units)
        if (units === 0) {
          seen.denied += 1
          const expected = least > LIMIT ? Number.POSITIVE_INFINITY : waitFor(least)
          expect(result.policies[0]?.retryAfterMs).toBe(expected)
        } else {
          seen.granted += 1
          const charge = ledger.take(units, nowMs())
          expect(result.untilUs[0]).toBe(charge.untilMs * 1_000)
          // Its receipt is for everything that was granted.
          taken.push({ charge, result })
        }
        isAsCounted(result)
      }

      try {
        for (let step = 0; step < STEPS_OF_WALK; step += 1) {
          steps += 1
          clock.advance(pick(2) * pick(UNIT_MS * 5))
          const units = 1 + pick(4)
          const does = pick(8)
          const place = pick(Math.max(1, taken.length))
          if (does <= 1) {
            await takes({ costs: [units] }, fits(units) ? units : 0, units)
          } else if (does <= 3) {
            const patienceMs = pick(MAX_WAIT_MS + 300)
            const maxWaitMs = Math.min(patienceMs, policy.maxWaitMs)
            const isTurn = ledger.leave !== undefined && fits(units, maxWaitMs)
            if (isTurn && !fits(units)) seen.waited += 1
            const isGranted = units <= LIMIT && (fits(units) || isTurn)
            const request = { costs: [units], atLeast: 1, maxWaitMs }
            await takes(request, isGranted ? units : 0, units)
          } else if (does === 4) {
            const most = 1 + pick(8)
            const atLeast = 1 + pick(most)
            const there = Math.min(most, Math.max(0, LIMIT - ledger.used(nowMs())))
            const request = { costs: [1], count: most, atLeast }
            await takes(request, there >= atLeast ? there : 0, atLeast)
          } else if (taken.length > 0) {
            const [{ charge, result }] = taken.splice(place, 1) as [Taken]
            const receipt = { untilUs: result.untilUs, seenUs: result.nowUs }
            const before = ledger.used(nowMs())
            if (does === 5 && ledger.leave !== undefined) {
              ledger.leave(charge, nowMs())
              isAsCounted(await ask({ mode: 'cancel', costs: [charge.units], ...receipt }))
              if (ledger.used(nowMs()) < before) seen.left += 1
            } else if (does <= 6) {
              const back = 1 + pick(charge.units)
              ledger.giveBack(charge, back, nowMs())
              isAsCounted(await ask({ mode: 'refund', costs: [back], ...receipt }))
            } else {
              const more = pick(2 * charge.units + 1) - charge.units
              if (more > 0) ledger.take(more, nowMs())
              if (more > 0) seen.charged += 1
              if (more < 0) ledger.giveBack(charge, -more, nowMs())
              if (more !== 0) isAsCounted(await ask({ mode: 'settle', costs: [more], ...receipt }))
            }
            if (ledger.used(nowMs()) < before) seen.gaveBack += 1
          }
        }
      } catch (error) {
        throw new Error(`seed ${SEED}, walk ${walk}, step ${steps}`, { cause: error })
      } finally {
        await store.close()
      }
    }
    const { waited, left, ...always } = seen
    for (const count of Object.values(always)) expect(count).toBeGreaterThan(STEPS / 50)
    if (makeLedger().leave !== undefined) {
      expect(waited).toBeGreaterThan(STEPS / 100)
      expect(left).toBeGreaterThan(STEPS / 500)
    }
  },
)
