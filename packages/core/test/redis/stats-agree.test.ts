// Random walks of all methods of a limiter: its stats are those of its decisions, to the unit,
// whether memory, Redis or a layer in front of it decides.
//
// WEIR_WEEKLY=1 takes 100,000 steps of each algorithm, from a seed that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import { expect, onTestFinished, test, vi } from 'vitest'
import { resilient } from '../../src/entries/store.js'
import {
  type Decision,
  memoryStore,
  type Policy,
  RateLimiter,
  type Store,
} from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'
import { countsOf, Tally } from '../limiter/tally.js'
import { unitFactories } from '../unit-factories.js'
import { randomFrom } from '../virtual-time.js'
import { singleClient, strictStore } from './clients.js'

const STEPS = stepsOf(400, 100_000)
const SEED = seedOf(1)
const WINDOW_MS = 10_000
const RESERVE = { normal: 0.2, batch: 0.5 }
const KEYS = ['one', 'two']

type Random = () => number

/** One step with a limiter. Decisions that may be given back are kept in `charged`. */
type Step = (limiter: RateLimiter, tally: Tally, charged: Decision[]) => Promise<unknown>

function stepOf(random: Random): Step {
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value
  const key = pick(KEYS)
  const cost = pick([0, 1, 1, 2, 3])
  const priority = pick([undefined, 'critical', 'normal', 'batch'])
  const units = 1 + Math.floor(random() * 5)
  const method = random()
  const place = random()
  return async (limiter, tally, charged) => {
    const note = (decision: Decision): Decision => {
      tally.decided(decision)
      return decision
    }
    if (method < 0.6) {
      const decision = note(await limiter.consume(key, { cost, priority }))
      if (decision.allowed) charged.push(decision)
      return decision
    }
    if (method < 0.7) return note(await limiter.consumeUpTo(key, units, { priority }))
    if (method < 0.75) return note(await limiter.wait(key, { cost, priority, timeout: 0 }))
    if (method < 0.8) return limiter.peek(key, { priority })
    if (method < 0.85) {
      const decision = await limiter.penalty(key, { cost })
      tally.punished(decision)
      return decision
    }
    const [decision] = charged.splice(Math.floor(place * charged.length), 1)
    if (decision === undefined) return undefined
    if (method < 0.93) {
      await limiter.refund(decision)
      tally.refunded(decision)
    } else {
      await limiter.settle(decision, units)
      tally.settled(decision, units)
    }
    return undefined
  }
}

/** A store that can go away, with what decides then. */
function leavingStore(clock: FakeClock): { readonly store: Store; leave(): void } {
  const inner = memoryStore({ clock })
  let isAway = false
  const leaving: Store = {
    decide(request) {
      if (isAway) throw new Error('away')
      return inner.decide(request)
    },
    reset: (target) => inner.reset(target),
  }
  return {
    store: resilient(leaving, { instances: 1 }),
    leave() {
      isAway = true
    },
  }
}

const names = Object.keys(unitFactories)

/** Each algorithm beside another one. */
const subjects = names.map((name, i): [string, readonly Policy[]] => {
  const other = names[(i + 1) % names.length] as string
  const made = (of: string, limit: number, windowMs: number): Policy =>
    (unitFactories[of as keyof typeof unitFactories] as (typeof unitFactories)['gcra']).of(
      limit,
      windowMs,
    )
  return [`${name} beside ${other}`, [made(name, 10, WINDOW_MS), made(other, 15, 2 * WINDOW_MS)]]
})

test.each(subjects)(
  `stats agree with decisions, in memory, and on Redis with the layers in front of it: %s, ${STEPS} steps`,
  { timeout: 120_000 + STEPS * 50 },
  async (name, policy) => {
    const clock = fakeClock()
    const away = leavingStore(clock)
    const stores: Readonly<Record<string, Store>> = {
      memory: memoryStore({ clock }),
      away: away.store,
      layers: strictStore(singleClient(), {
        ...{ clock, instances: 1, leases: { units: 4, holdMs: 1_000 } },
      }),
    }
    // The warnings of a store about its outage are not the subject here.
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(async () => {
      warning.mockRestore()
      for (const store of Object.values(stores)) await store.close?.()
    })
    const sides = Object.entries(stores).map(([of, store]) => {
      const limiter = new RateLimiter({
        name: `agree-${of}-${name.replaceAll(' ', '-')}-${process.pid}`,
        store,
        policy,
        reserve: RESERVE,
      })
      return { of, limiter, tally: new Tally(), charged: [] as Decision[] }
    })
    const random = randomFrom(SEED)
    for (let i = 0; i < STEPS; i += 1) {
      if (i === STEPS / 2) {
        away.leave()
        for (const { of, tally } of sides) tally.isAway = of === 'away'
      }
      if (random() < 0.4) clock.advance(Math.floor(random() * 1_500))
      const step = stepOf(random)
      await Promise.all(sides.map(({ limiter, tally, charged }) => step(limiter, tally, charged)))
    }
    for (const { limiter, tally } of sides) expect(countsOf(limiter)).toEqual(tally.counts)
    const [memory, without, layers] = sides.map(({ limiter }) => countsOf(limiter))
    // The walk must deny something, and the layers must answer something.
    expect(memory).toHaveProperty(['decision denied store'])
    expect(memory).toHaveProperty(['class batch denied'])
    expect(without).toHaveProperty(['decision allowed local degraded'])
    expect(layers).toHaveProperty(['decision denied cache'])
  },
)
