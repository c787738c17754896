// Slots: how much is in progress at once beyond the limit, and when all slots are free again.
import { setTimeout as sleep } from 'node:timers/promises'
import { concurrency, type Held, RateLimiter } from '@weir/core'
import { lossOfSlots, slotsInOutage } from '../../promises/bounds.js'
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

async function holders(stage: Stage): Promise<{ readonly all: readonly Holder[]; port: number }> {
  const { port } = await stage.redis()
  const { processes } = await openFleet(stage, { port, size: SIZE, limit: LIMIT })
  const all = processes.map((process): Holder => {
    const policy = concurrency({ name: 'open', limit: LIMIT, holdTimeout: HOLD_MS })
    const limiter = new RateLimiter({ name: 'slots', store: process.store, policy, shared: true })
    stage.onEnd(async () => limiter.close({ slots: 'expire' }))
    return { process, limiter, held: [] }
  })
  for (const each of all) await take(each, LIMIT / SIZE)
  return { all, port }
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

const MUST = {
  must: 'keep what is in progress, and free all slots when it has ended',
  notWithLeases: 'slots are not leased',
} as const

export const slots: readonly Row[] = [
  {
    number: '40',
    variant: 'cut off',
    fault: 'of 4 processes that hold all slots one is cut off for longer than they last',
    ...MUST,
    pass: 'in progress <= L + what it held + its part of L',
    async run(stage) {
      const { all } = await holders(stage)
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
  },
  {
    number: '40',
    variant: 'FLUSHALL',
    fault: 'Redis forgets all slots while they are held',
    ...MUST,
    pass: 'in progress <= L + what was in progress; none more once it is renewed',
    async run(stage) {
      const { all, port } = await holders(stage)
      const bound = lossOfSlots(LIMIT, inProgress(all))
      await stage.connection(port).command('FLUSHALL')
      for (const each of all) await take(each, LIMIT)
      const most = inProgress(all)
      await sleep(HOLD_MS / 3 + MARGIN_MS)
      for (const each of all) await take(each, LIMIT)
      return [
        countAtMost('in progress', most, bound),
        exactly('more once renewed', inProgress(all) - most, 0),
        ...(await allBack(all)),
      ]
    },
  },
  {
    number: '40',
    variant: 'crash',
    fault: 'two of 4 processes that hold all slots end without a release',
    ...MUST,
    pass: 'in progress <= L; theirs are free after 61/60 of holdTimeout',
    async run(stage) {
      const { all } = await holders(stage)
      const [first, second, ...others] = all as [Holder, Holder, ...Holder[]]
      const startMs = performance.now()
      for (const { limiter, held } of [first, second]) {
        limiter.close({ slots: 'expire' })
        held.length = 0
      }
      let earlyMs = Number.POSITIVE_INFINITY
      while (inProgress(others) < LIMIT && performance.now() - startMs < 10 * HOLD_MS) {
        const before = inProgress(others)
        for (const each of others) await take(each, 1)
        const sinceMs = performance.now() - startMs
        if (inProgress(others) > before) earlyMs = Math.min(earlyMs, sinceMs)
        await sleep(20)
      }
      const lateMs = performance.now() - startMs
      return [
        exactly('in progress', inProgress(others), LIMIT),
        // They were taken or renewed at most a third of their time ago.
        routine(msAtMost('too early by', Math.max(0, HOLD_MS / 2 - earlyMs), 0)),
        msAtMost('all taken again after', lateMs, EXPIRY_MS + MARGIN_MS),
        ...(await allBack(others)),
      ]
    },
  },
]
