// A Redis that loses its data, on a healthy connection. The bound: the limit, and what was in
// flight when each loss showed.

import { inTime, RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import { redisStoreIn } from '../../../../packages/core/src/redis/store.js'
import { Host } from '../../src/world/host.js'
import { World } from '../../src/world/world.js'
import { lineOf } from './line.js'
import { KEYS, type Turn } from './steps.js'
import { LIMIT, ROUNDED, type Subject, type Taken } from './usage.js'

interface Units extends Taken {
  /** Whether it was in flight when a loss showed. */
  readonly isExtra: boolean
}

/** Longer than anything that should happen at once. */
const AT_ONCE_US = 2_000
/** Units that were about to expire are not reported again, since clocks differ. */
const MARGIN_MS = 50

/**
 * Runs some turns, in each of which all requests are sent at once.
 * @param seen collects what has happened
 * @returns the broken promises
 */
export async function forgetful(
  { policy, inUse }: Subject,
  turns: readonly Turn[],
  seed: number,
  seen: Set<string>,
): Promise<string[]> {
  const faults: string[] = []
  const world = new World(seed)
  const host = new Host(world, 'one')
  const { time } = host
  const line = lineOf(host, policy.numbers.length, { called() {}, ran() {}, missed() {} })
  const store = redisStoreIn(time, line.connection, { instances: 1 })
  store.on('data-loss', () => seen.add('data-loss'))
  const made = inTime(time, { name: 'forgetful', store, policy, shared: true })
  const limiter = new RateLimiter(made)
  const books = KEYS.map((key) => ({ key, units: [] as Units[], isLost: false }))
  await world.runFor(AT_ONCE_US)
  for (const { forgets, waitMs, requests } of turns) {
    await world.runFor(waitMs * 1_000)
    if (forgets) {
      line.forget()
      for (const book of books) book.isLost = true
    }
    const askedMs = time.nowMs()
    for (const { key, cost, mode } of requests) {
      const book = books.find((each) => each.key === key) as (typeof books)[number]
      const isPeek = mode === 'peek'
      const asked = isPeek ? limiter.peek(key, { cost }) : limiter.consume(key, { cost })
      void asked.then(({ allowed, source }) => {
        if (source === 'local') faults.push(`${key} is decided by ${source}`)
        // All requests of a turn are in flight when the first answer shows the loss.
        if (allowed && !isPeek) book.units.push({ units: cost, askedMs, isExtra: book.isLost })
      })
    }
    await world.runFor(AT_ONCE_US)
    for (const book of books) {
      const { key, units } = book
      // A request that takes nothing shows no loss.
      if (units.some((each) => each.askedMs === askedMs)) book.isLost = false
      const atMs = askedMs + MARGIN_MS
      const used = inUse(
        units.filter(({ isExtra }) => !isExtra),
        atMs,
      )
      if (used > LIMIT + ROUNDED) faults.push(`${key}: ${used} in use, beside what was in flight`)
      if (inUse(units, atMs) > LIMIT) seen.add('over the limit')
    }
  }
  void store.close()
  return faults
}
