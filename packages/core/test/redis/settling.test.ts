// A kernel may settle charges by itself. It is told of each settlement and of each refund of a
// decision, in every store: what was charged, what was used, also where the two are equal, and
// which charge it was.

import { expect, test } from 'vitest'
import { changed, isPolicy } from '../../src/algorithms/policy.js'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
} from '../../src/index.js'
import type { Store } from '../../src/store.js'
import { type FakeClock, fakeClock } from '../../src/testing/clock.js'
import { tableStore } from '../database/table-store.js'
import { randomFrom } from '../virtual-time.js'
import { singleClient } from './clients.js'
import { patientStore } from './patient.js'
import { trial } from './settling/kernel.js'

const HOLD_MS = 10_000
const budget = trial('budget', 20, HOLD_MS)
const rate = fixedWindow({ name: 'rate', limit: 50, window: '1h' })

let runs = 0
const stores: Readonly<Record<string, (clock: FakeClock) => Store | Promise<Store>>> = {
  memory: (clock) => memoryStore({ clock }),
  rows: tableStore,
  Redis(clock) {
    runs += 1
    return patientStore(singleClient(), { clock, prefix: `settling-${process.pid}-${runs}` })
  },
}

interface World {
  readonly clock: FakeClock
  readonly limiter: RateLimiter
  /** What is left, by policies. */
  left(): Promise<readonly number[]>
}

async function worldOn(name: string, policies: Policy[]): Promise<World> {
  const clock = fakeClock()
  const store = await stores[name]?.(clock)
  const limiter = new RateLimiter({ name: 'api', policy: policies, ...(store && { store }) })
  const left = async () => (await limiter.peek('k')).policies.map(({ remaining }) => remaining)
  return { clock, limiter, left }
}

test.each(Object.keys(stores))('%s: what was held is spent, or comes back', async (name) => {
  const { clock, limiter, left } = await worldOn(name, [budget, rate])
  const charged = async (cost: number): Promise<Decision> => {
    clock.advance(1)
    return limiter.consume('k', { cost })
  }
  const [equal, less, more, none] = [
    await charged(3),
    await charged(3),
    await charged(3),
    await charged(3),
  ]
  const late = await charged(4)
  expect(await left()).toEqual([4, 34])
  await limiter.settle(equal, 3)
  expect(await left()).toEqual([4, 34])
  await limiter.settle(less, 1)
  expect(await left()).toEqual([6, 36])
  await limiter.settle(more, 5)
  expect(await left()).toEqual([4, 34])
  await limiter.refund(none)
  expect(await left()).toEqual([7, 37])
  clock.advance(HOLD_MS)
  // What nobody settled came back, and what was spent did not. A late settlement is spent.
  expect(await left()).toEqual([11, 37])
  await limiter.settle(late, 5)
  expect(await left()).toEqual([6, 36])
})

test('all stores decide the same', async () => {
  const worlds = await Promise.all(Object.keys(stores).map((name) => worldOn(name, [budget, rate])))
  const random = randomFrom(1)
  const pick = (below: number): number => Math.floor(random() * below)
  /** By step, the decision of each world. */
  const charged: Decision[][] = []
  for (let step = 0; step < 400; step += 1) {
    const [action, cost, ms] = [pick(20), pick(5), 1 + pick(3) * 1_501]
    const [settled] =
      action < 10 || charged.length === 0 ? [] : charged.splice(pick(charged.length), 1)
    const made: Decision[] = []
    const answers = await Promise.all(
      worlds.map(async ({ clock, limiter }, world) => {
        clock.advance(ms)
        const decision = settled?.[world]
        if (decision === undefined) made[world] = await limiter.consume('k', { cost })
        else if (action === 10) await limiter.reset('k')
        else if (action < 14) await limiter.refund(decision)
        else await limiter.settle(decision, cost)
        const { allowed, policies } = await limiter.peek('k', { cost })
        return [allowed, ...policies.map((each) => [each.remaining, each.retryAfterMs])]
      }),
    )
    if (made.length > 0) charged.push(made)
    // Settled before anybody forgets that the key was reset.
    if (charged.length > 8) charged.shift()
    for (const answer of answers) expect(answer, `step ${step}`).toEqual(answers[0])
  }
})

test('a policy with another number of numbers than its kernel is none', () => {
  expect(isPolicy(budget)).toBe(true)
  expect(isPolicy(changed(budget, { numbers: [20] }))).toBe(false)
})
