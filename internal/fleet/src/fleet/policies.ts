// The policies of stories.

import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../../packages/core/src/index.js'

/** Longer than any story, so that everything that was admitted still counts. */
const WINDOW = '1h'
/** The time in which a bucket refills: long enough that no unit flows back in a story. */
const FULL = '40d'

type Make = (limit: number, name: string) => Policy

export type StoryAlgorithm =
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket'
  | 'fixed-window'
  | 'aligned-window'
  | 'calendar-window'
  | 'sliding-window'
  | 'sliding-counter'
  | 'sliding-log'

/** Makes a policy with any limit; its time scale is always the same. */
const MAKERS: Readonly<Record<StoryAlgorithm, Make>> = {
  'token-bucket': (limit, name) =>
    tokenBucket({ name, capacity: limit, refill: limit, every: FULL }),
  gcra: (limit, name) => gcra({ name, burst: limit, limit, period: FULL }),
  'leaky-bucket': (limit, name) => leakyBucket({ name, capacity: limit, leak: limit, every: FULL }),
  'fixed-window': (limit, name) => fixedWindow({ name, limit, window: WINDOW }),
  'aligned-window': (limit, name) => fixedWindow({ name, limit, window: WINDOW, aligned: true }),
  'calendar-window': (limit, name) =>
    fixedWindow({ name, limit, window: 'month', timeZone: 'America/New_York' }),
  'sliding-window': (limit, name) => slidingWindow({ name, limit, window: WINDOW }),
  'sliding-counter': (limit, name) => slidingCounter({ name, limit, window: WINDOW }),
  'sliding-log': (limit, name) => slidingLog({ name, limit, window: WINDOW }),
}

export const ALGORITHMS: readonly StoryAlgorithm[] = Object.keys(MAKERS) as StoryAlgorithm[]

/** The limits of several policies, relative to the first one. */
const PARTS = [1, 0.85, 1.2]

/** Functions that make the policies of a decision, the first one by the named algorithm. */
export function makersOf(
  algorithm: StoryAlgorithm,
  count: number,
): readonly ((limit: number) => Policy)[] {
  return Array.from({ length: count }, (_, i) => {
    const own = ALGORITHMS[(ALGORITHMS.indexOf(algorithm) + 2 * i) % ALGORITHMS.length]
    const part = PARTS[i % PARTS.length] as number
    // In all stories, a name belongs to one algorithm.
    return (limit) => MAKERS[own as StoryAlgorithm](Math.ceil(part * limit), `${own}-${i}`)
  })
}

/** Functions that make policies, the first one a lock-out whose window and block outlast a
 *  story. */
export function guardsOf(
  algorithm: StoryAlgorithm,
  count: number,
): readonly ((limit: number) => Policy)[] {
  const times = { window: WINDOW, block: ['2h'], forget: '1d' } as const
  const first = (limit: number) => lockout({ name: 'guesses', limit, ...times })
  return [first, ...makersOf(algorithm, count).slice(1)]
}

/** Slots for each key, and some for all keys together. */
export function slotUsesOf(
  limit: number,
  holdMs: number,
  isShared: boolean,
): readonly { readonly policy: Policy; readonly key: string | undefined }[] {
  const own = concurrency({ name: 'open', limit, holdTimeout: holdMs })
  if (!isShared) return [{ policy: own, key: undefined }]
  const all = Math.ceil((PARTS[2] as number) * limit)
  const ofAll = concurrency({ name: 'open-in-all', limit: all, holdTimeout: holdMs })
  return [
    { policy: own, key: undefined },
    { policy: ofAll, key: 'all' },
  ]
}

/** Functions that make buckets that refill while a story runs. */
export function flowsOf(count: number, refillMs: number): readonly ((limit: number) => Policy)[] {
  return Array.from({ length: count }, (_, i) => (limit) => {
    return tokenBucket({ name: `flow-${i}`, capacity: limit, refill: limit, every: refillMs })
  })
}
