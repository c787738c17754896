// The policies of stories.

import type { PolicyDescription } from '../../../../packages/core/src/algorithms/description.js'
import { inRepository } from '../../../../packages/core/src/algorithms/repository.generated.js'
import {
  budget,
  concurrency,
  lockout,
  type Policy,
  tokenBucket,
} from '../../../../packages/core/src/index.js'
import { algorithms } from '../../../../packages/core/src/testing/algorithms.js'

/** Longer than any story. */
export const LONG_MS = 600_000
/** Much longer, so that everything that was admitted still counts. */
const WINDOW = '1h'
/** The time in which a bucket refills: long enough that no unit flows back in a story. */
const FULL = '40d'

type Make = (limit: number, name: string) => Policy

/** Makes a policy that counts units with any limit, always on the same time scale: by the name of
 *  its algorithm, or of another form of it. */
const MAKERS: Readonly<Record<string, Make>> = Object.fromEntries(
  Object.entries(algorithms)
    .filter(([, { api }]) => api.consume === 'takes 3')
    .flatMap(([folder, { policies }]) =>
      Object.entries(policies).flatMap(([name, policy]) => {
        return makersFor(policy, inRepository[folder]?.policies[name]?.forms)
      }),
    ),
)

function makersFor(
  { create, of }: PolicyDescription,
  forms: Readonly<Record<string, object>> = {},
): readonly (readonly [string, Make])[] {
  const { algorithm, kernel } = of(1, '1m')
  const window = kernel?.traits.drains ? FULL : WINDOW
  const plain: Make = (limit, name) => of(limit, window, name)
  const others = Object.entries(forms).map(([form, options]): readonly [string, Make] => {
    return [form, (limit, name) => create({ ...options, limit, name } as never)]
  })
  return [[algorithm, plain], ...others]
}

export const ALGORITHMS: readonly string[] = Object.keys(MAKERS)

/** The limits of several policies, relative to the first one. */
const PARTS = [1, 0.85, 1.2]

/** Functions that make the policies of a decision, the first one by the named algorithm. */
export function makersOf(algorithm: string, count: number): readonly ((limit: number) => Policy)[] {
  return Array.from({ length: count }, (_, i) => {
    const own = ALGORITHMS[(ALGORITHMS.indexOf(algorithm) + 2 * i) % ALGORITHMS.length]
    const part = PARTS[i % PARTS.length] as number
    // In all stories, a name belongs to one algorithm.
    return (limit) => (MAKERS[own ?? ''] as Make)(Math.ceil(part * limit), `${own}-${i}`)
  })
}

/** Functions that make policies, the first one a lock-out whose window and block outlast a
 *  story. */
export function guardsOf(algorithm: string, count: number): readonly ((limit: number) => Policy)[] {
  const times = { window: WINDOW, block: ['2h'], forget: '1d' } as const
  const first = (limit: number) => lockout({ name: 'guesses', limit, ...times })
  return [first, ...makersOf(algorithm, count).slice(1)]
}

/** A policy of which each key, or all keys together, have one counter. */
interface Use {
  readonly policy: Policy
  readonly key: string | undefined
}

/** Slots for each key, and some for all keys together. */
export function slotUsesOf(limit: number, holdMs: number, isShared: boolean): readonly Use[] {
  return usesOf(limit, isShared, 'open', (options) =>
    concurrency({ ...options, holdTimeout: holdMs }),
  )
}

/** A budget for each key, and one for all keys together. */
export function budgetUsesOf(limit: number, holdMs: number, isShared: boolean): readonly Use[] {
  return usesOf(limit, isShared, 'spending', (options) =>
    budget({ ...options, holdTimeout: holdMs }),
  )
}

function usesOf(
  limit: number,
  isShared: boolean,
  name: string,
  of: (options: { readonly name: string; readonly limit: number }) => Policy,
): readonly Use[] {
  const own = { policy: of({ name, limit }), key: undefined }
  if (!isShared) return [own]
  const all = Math.ceil((PARTS[2] as number) * limit)
  return [own, { policy: of({ name: `${name}-in-all`, limit: all }), key: 'all' }]
}

/** Functions that make buckets that refill while a story runs. */
export function flowsOf(count: number, refillMs: number): readonly ((limit: number) => Policy)[] {
  return Array.from({ length: count }, (_, i) => (limit) => {
    return tokenBucket({ name: `flow-${i}`, capacity: limit, refill: limit, every: refillMs })
  })
}
