// Slots: how much is in progress at once beyond the limit, and when all slots are free again.
import { setTimeout as sleep } from 'node:timers/promises'
import { concurrency, type Held, RateLimiter } from '@weir/core'
import { slotsInOutage } from '../../promises/bounds.js'
import { type Check, countAtLeast, countAtMost, exactly, msAtMost, routine } from '../checks.js'
import { bringBack, cut, openFleet, type Process } from '../fleet.js'
import type { Row } from '../row.js'
import type { Stage } from '../stage.js'

const SIZE = 4
const LIMIT = 8
const HOLD_MS = 1_500
/** Slots that are taken now expire after this time. */
const EXPIRY_MS = (HOLD_MS * 61) / 60
/** For timers and replies on a busy machine. */
const MARGIN_MS = 500
const QUOTA = LIMIT / SIZE
const KEY = 'tenant'

/** A process and the slots that it holds. */
interface Holder {
  readonly process: Process
  readonly limiter: RateLimiter
  readonly held: Held[]
}

async function holders(stage: Stage): Promise<readonly Holder[]> {
  const { port } = await stage.redis()
  const { processes } = await openFleet(stage, { port, size: SIZE, limit: LIMIT })
  const all = processes.map((process): Holder => {
    const policy = concurrency({ name: 'open', limit: LIMIT, holdTimeout: HOLD_MS })
    const limiter = new RateLimiter({ name: 'slots', store: process.store, policy, shared: true })
    stage.onEnd(async () => limiter.close({ slots: 'expire' }))
    return { process, limiter, held: [] }
  })
  for (const each of all) await take(each, LIMIT / SIZE)
  return all
}

/** Tries to take this many slots. */
async function take({ limiter, held }: Holder, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    const each = await limiter.acquire(KEY)
    if (each.allowed) held.push(each)
  }
}

function inProgress(all: readonly Holder[]): number {
  return all.reduce((sum, { held }) => sum + held.length, 0)
}

/** Ends all work, and waits until all slots are free, according to a process that was never cut
 *  off: the others have a ceiling for some seconds. */
async function allBack(all: readonly Holder[]): Promise<Check[]> {
  const startMs = performance.now()
  await Promise.all(all.flatMap(({ held }) => held.splice(0).map((each) => each.release())))
  const { limiter } = all.at(-1) as Holder
  let free = 0
  while (free < LIMIT && performance.now() - startMs < 10 * HOLD_MS) {
    const { remaining, degraded } = await limiter.peek(KEY)
    free = degraded ? 0 : remaining
    if (free < LIMIT) await sleep(20)
  }
  const backMs = performance.now() - startMs
  return [
    routine(exactly('free at the end', free, LIMIT)),
    msAtMost('all free after', backMs, EXPIRY_MS + MARGIN_MS),
  ]
}

export const slots: Row = {
  number: '40',
  fault: 'of 4 processes that hold all slots one is cut off for longer than they last',
  must: 'keep what is in progress, and free all slots when it has ended',
  notWithLeases: 'slots are not leased',
  async run(stage) {
    const all = await holders(stage)
    const [away, ...others] = all as [Holder, ...Holder[]]
    await cut([away.process])
    const until = performance.now() + 2 * EXPIRY_MS
    const bound = slotsInOutage(LIMIT, [away.held.length], [QUOTA])
    let most = inProgress(all)
    while (performance.now() < until) {
      for (const each of all) await take(each, 1)
      most = Math.max(most, inProgress(all))
      await sleep(50)
    }
    const aborted = away.held.filter(({ signal }) => signal.aborted).length
    await bringBack([away.process])
    await take(others[0] as Holder, 3)
    return [
      countAtMost('in progress', Math.max(most, inProgress(all)), bound),
      routine(countAtLeast('in progress, at the least', most, LIMIT)),
      routine(exactly('ended by the outage', aborted, 0)),
      ...(await allBack(all)),
    ]
  },
}
