// What each part of the API does with each algorithm: the table in its description.

import { expect, onTestFinished, test } from 'vitest'
import type { ApiTable } from '../../src/algorithms/description.js'
import type { Policy } from '../../src/algorithms/policy.js'
import { type Decision, RateLimiter } from '../../src/index.js'
import { layerOf } from '../../src/layer.js'
import { withDenyCache } from '../../src/layers/deny-cache.js'
import { limitsFor } from '../../src/layers/leases/limits.js'
import { restoring } from '../../src/layers/resilience/restoring.js'
import { inTime } from '../../src/limiter/limiter.js'
import { memoryStoreIn } from '../../src/memory/store.js'
import { makePolicySet } from '../../src/request.js'
import type { Store } from '../../src/store.js'
import { algorithms } from '../../src/testing/algorithms.js'
import { FakeResponse, limitOn } from '../http/exchange.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'

const LIMIT = 10
type Make = (limit: number) => Policy

/** A limiter of one policy; its store counts how often it is asked. */
class World {
  readonly time: VirtualTime = virtualTime()
  readonly limiter: RateLimiter
  asked = 0
  readonly #store = memoryStoreIn(this.time)

  constructor(policy: Policy, reserve?: Record<string, number>) {
    this.limiter = this.with(policy, reserve)
  }

  with(policy: Policy, reserve?: Record<string, number>): RateLimiter {
    const store: Store = {
      ...this.#store,
      decide: (request) => {
        this.asked += 1
        return this.#store.decide(request)
      },
    }
    const options = { name: 'api', store, policy, ...(reserve && { reserve }) }
    const limiter = new RateLimiter(inTime(this.time, options))
    onTestFinished(() => limiter.close())
    return limiter
  }

  async used(of: RateLimiter = this.limiter): Promise<number> {
    const { limit, remaining } = await of.peek('k')
    return limit - remaining
  }

  taken(): Promise<Decision> {
    return this.limiter.consume('k', { cost: 3 })
  }

  async exhaust(): Promise<void> {
    while ((await this.limiter.consume('k')).allowed);
  }
}

const isRefused = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    ({ code }) => {
      expect(code).toMatch(/^WEIR_INVALID_(POLICY|COST)$/)
      return true
    },
  )

/** Finds out what a part of the API does. */
const PARTS: { readonly [Part in keyof ApiTable]: (make: Make) => Promise<string> } = {
  async consume(make) {
    const world = new World(make(LIMIT))
    await world.taken()
    return `takes ${await world.used()}`
  },
  async consumeUpTo(make) {
    const world = new World(make(LIMIT))
    if (await isRefused(world.limiter.consumeUpTo('k', 3))) return 'is refused'
    return `takes ${await world.used()}`
  },
  async wait(make) {
    const world = new World(make(LIMIT))
    await world.exhaust()
    world.asked = 0
    const waited = await world.time.settle(world.limiter.wait('k', { timeout: '3m' }))
    if (!waited.allowed) return 'does not wait'
    return world.asked === 1 ? 'reserves a turn' : 'asks again'
  },
  async penalty(make) {
    const world = new World(make(LIMIT))
    if (await isRefused(world.limiter.penalty('k', { cost: 3 }))) return 'is refused'
    return `takes ${await world.used()}`
  },
  async refund(make) {
    const world = new World(make(LIMIT))
    await world.limiter.refund(await world.taken())
    return `gives ${(await world.used()) === 0 ? 'all' : 'nothing'} back`
  },
  async settle(make) {
    const world = new World(make(LIMIT))
    const decision = await world.taken()
    const before = await world.used()
    await world.limiter.settle(decision, 5)
    const more = (await world.used()) - before
    return more === 0 ? 'changes nothing' : `takes ${more} more`
  },
  async release(make) {
    const world = new World(make(LIMIT))
    await world.limiter.release(await world.taken())
    return (await world.used()) === 0 ? 'gives all back' : 'changes nothing'
  },
  async reserve(make) {
    const world = new World(make(LIMIT), { batch: 0.5 })
    while ((await world.limiter.consume('k', { priority: 'batch' })).allowed);
    return `leaves ${(await world.used()) === LIMIT ? 'nothing' : 'half'}`
  },
  async block(make) {
    const world = new World(make(LIMIT))
    if (await isRefused(world.limiter.block('k', '10s'))) return 'is refused'
    return (await world.taken()).allowed ? 'lets pass' : 'denies'
  },
  async 'deny cache'(make) {
    const world = new World(make(LIMIT))
    let asked = 0
    const store = memoryStoreIn(world.time)
    const next = layerOf({
      ...store,
      decide: async (request) => {
        asked += 1
        const sentAtMs = world.time.nowMs()
        return { ...(await store.decide(request)), sentAtMs }
      },
    })
    const cache = withDenyCache(next, { time: world.time, clock: undefined })
    const target = { policySet: makePolicySet('api', [make(LIMIT)]), key: 'k' }
    const ask = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const decided = ({ granted }: { granted: number }): void => resolve(granted)
        const request = { mode: 'consume', target, costs: [1], count: 1 } as const
        cache.ask(request, { decided, failed: reject })
      })
    // At first, a time at which nothing has changed is not later than the present one.
    await world.time.advance(1)
    while ((await ask()) > 0);
    const before = asked
    await ask()
    return asked === before ? 'remembers' : 'asks again'
  },
  async leases(make) {
    const { most } = limitsFor(makePolicySet('api', [make(1_000)]), { units: 100, holdMs: 1_000 })
    return `take ${most === 0 ? 'nothing' : 'ahead'}`
  },
  async header(make) {
    const response = new FakeResponse()
    await limitOn({ policy: make(LIMIT), headers: 'draft-8' }).send({}, response)
    const text = response.headers['RateLimit-Policy'] ?? ''
    return `has ${/;w=60/.test(text) ? 'a' : 'no'} window`
  },
  async problem(make) {
    const { send } = limitOn({ policy: make(1) })
    await send()
    const refusal = await send()
    return /#([\w-]+)/.exec(refusal?.body ?? '')?.[1] ?? 'none'
  },
  async 'a larger limit'(make) {
    const world = new World(make(LIMIT))
    await world.taken()
    const used = await world.used()
    const larger = world.with(make(2 * LIMIT))
    // A bucket keeps the share that is used.
    const after = await world.used(larger)
    return [used, 2 * used].includes(after) ? 'keeps the count' : 'forgets the count'
  },
  async 'after a loss'(make) {
    const target = { policySet: makePolicySet('api', [make(LIMIT)]), key: 'k' }
    const seen = { nowUs: 1_000, remaining: [LIMIT - 3], untilUs: [2_000] }
    return (restoring(target, seen).costs[0] as number) > 0 ? 'is restored' : 'is renewed'
  },
}

const names = Object.keys(PARTS) as (keyof ApiTable)[]
const rows = Object.values(algorithms).flatMap(({ policies, api }) =>
  Object.entries(policies).flatMap(([name, { of }]) =>
    names.map((part) => ({ name, part, says: api[part], of })),
  ),
)

test.each(rows)('$name, $part: $says', async ({ part, says, of }) => {
  expect(await PARTS[part]((limit) => of(limit, '1m', 'p'))).toBe(says)
})
