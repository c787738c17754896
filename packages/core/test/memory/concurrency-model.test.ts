// Slots compared with a model that stores each holder separately: random acquisitions, renewals,
// releases, crashes, resets and steps of the clock. That Redis decides the same is shown by
// redis/differential.test.ts.
//
// WEIR_WEEKLY=1 takes 100,000 steps, from a seed that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import { expect, test } from 'vitest'
import { concurrency } from '../../src/algorithms/concurrency/policies.js'
import { memoryStore } from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'

const STEPS = stepsOf(1_500, 100_000)
const SEED = seedOf(1)
const STEPS_OF_WALK = 80
const LIMIT = 6
const HOLD_MS = 3_000
const PART_MS = HOLD_MS / 60

/** What a decision took, and until when: its receipt. */
interface Holder {
  readonly units: number
  readonly takenUs: number
  untilMs: number
}

/** All holders of slots, as documented. */
class Model {
  readonly holders: Set<Holder> = new Set()

  used(nowMs: number): number {
    let used = 0
    for (const { units, untilMs } of this.holders) if (untilMs > nowMs) used += units
    return used
  }

  /** When slots that are taken now would expire. */
  until(nowMs: number): number {
    return Math.ceil((nowMs + HOLD_MS) / PART_MS) * PART_MS
  }
}

test(
  `as many slots are free as the model says, over ${STEPS} steps`,
  async () => {
    const random = randomFrom(SEED)
    const whole = (most: number) => Math.floor(random() * most)
    let steps = 0
    while (steps < STEPS) {
      const clock = fakeClock()
      const store = memoryStore({ clock })
      const policy = concurrency({ name: 'open', limit: LIMIT, holdTimeout: HOLD_MS })
      const target = { policySet: makePolicySet('streams', [policy]), key: 'tenant' }
      const model = new Model()
      /** Those that hold, or believe that they do: a crashed holder does nothing more. */
      const held: Holder[] = []
      let forgottenMs = 0
      const nowMs = () => Math.floor(clock.nowUs() / 1_000)
      const holderOf = (units: number): Holder => {
        return { units, takenUs: clock.nowUs(), untilMs: model.until(nowMs()) }
      }
      const ask = async (parts: Partial<StoreRequest>): Promise<StoreResult> =>
        store.decide({ target, costs: [1], count: 1, ...parts } as StoreRequest)
      const named = ({ units, takenUs, untilMs }: Holder) => {
        return { costs: [units], untilUs: [untilMs * 1_000], seenUs: takenUs }
      }
      const oneOfHeld = (): Holder | undefined => held.splice(whole(held.length), 1)[0]

      for (let i = 0; i < STEPS_OF_WALK; i += 1, steps += 1) {
        clock.advance(whole(6) === 0 ? whole(HOLD_MS / 2) : whole(2 * PART_MS))
        const what = whole(20)
        if (what < 9) {
          const units = 1 + whole(3)
          const free = LIMIT - model.used(nowMs())
          const result = await ask({ mode: 'consume', costs: [units] })
          expect(result.granted, `step ${steps}`).toBe(free >= units ? 1 : 0)
          if (result.granted === 0) {
            const wait = result.policies[0]?.retryAfterMs as number
            expect(wait).toBeGreaterThan(0)
            expect(wait).toBeLessThanOrEqual(1_000)
            continue
          }
          const holder = holderOf(units)
          expect(Math.floor((result.untilUs[0] as number) / 1_000)).toBe(holder.untilMs)
          model.holders.add(holder)
          held.push(holder)
        } else if (what < 13) {
          const holder = oneOfHeld()
          if (holder === undefined) continue
          await ask({ mode: 'release', ...named(holder) })
          model.holders.delete(holder)
        } else if (what < 16) {
          const holder = oneOfHeld()
          if (holder === undefined) continue
          const { untilUs } = await ask({ mode: 'renew', ...named(holder) })
          // Renewed, or taken again if it had expired or was lost.
          holder.untilMs = model.until(nowMs())
          expect(Math.floor((untilUs[0] as number) / 1_000)).toBe(holder.untilMs)
          model.holders.add(holder)
          held.push(holder)
        } else if (what < 18) {
          // A crash: its slot is free when it expires.
          oneOfHeld()
        } else if (what === 18 && whole(3) > 0) {
          // Without the name of a run, nothing is given back.
          await ask({ mode: whole(2) === 0 ? 'release' : 'refund' })
        } else if (what === 18) {
          // The clock steps back. Expiries later than new ones become those of new ones, which
          // their holders do not know, so nobody releases or renews them. What is over is dropped
          // by the next change, and counts again if there was none.
          await ask({ mode: 'penalty' })
          model.holders.add(holderOf(1))
          for (const holder of model.holders)
            if (holder.untilMs <= nowMs()) model.holders.delete(holder)
          // Not to before a reset: what was taken since would then be older than it.
          clock.advance(-Math.min(whole(2 * HOLD_MS), nowMs() - forgottenMs))
          held.length = 0
          for (const holder of model.holders)
            holder.untilMs = Math.min(holder.untilMs, model.until(nowMs()))
          // Every call but a peek stamps them again.
          await ask({ mode: 'consume', costs: [LIMIT + 1] })
        } else if (whole(4) === 0) {
          await store.reset(target)
          forgottenMs = nowMs() + 1
          model.holders.clear()
          // What is taken at the very instant of a reset counts as taken before it.
          clock.advance(1)
          // What was taken before a reset is gone: neither released nor renewed.
          for (const holder of held.splice(0)) await ask({ mode: 'renew', ...named(holder) })
        }
        const peek = await ask({ mode: 'peek' })
        const used = model.used(nowMs())
        expect(peek.policies[0]?.remaining, `step ${steps}`).toBe(Math.max(0, LIMIT - used))
      }
      await store.close()
    }
  },
  120_000 + STEPS * 20,
)
