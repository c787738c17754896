// Attackers who try to get as many units as possible into one window, and how many they got. Time
// is injected and the kernels are the TypeScript ones, so a search can try thousands of attacks;
// the worst ones are repeated on Redis.

import type { Policy } from '../../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../../src/base/clock.js'
import { Model, type Request } from '../differential/model.js'
import { drawnOf } from '../differential/recipe.js'

/** An attacker's next step, and its time. */
export interface Blow {
  /** - `gap`: n ms later
   *  - `edge`: at the next edge of windows that are aligned to the epoch, and n ms more
   *  - `span`: a window later, and n ms more
   *  - `retry`: when the last denial's wait is over, and n ms more */
  readonly when: 'gap' | 'edge' | 'span' | 'retry'
  readonly n: number
  /** Units to request, one by one; 0: refunds the n-th of the earlier grants, by its receipt. */
  readonly units: number
}

/** Units that were granted at an instant, and not given back. */
interface Grant {
  readonly atMs: number
  units: number
  readonly untilUs: readonly number[]
  readonly seenUs: number
}

export interface Raid {
  /** The units in the worst window. */
  readonly held: number
  readonly calls: readonly {
    readonly request: Request
    readonly nowUs: number
    readonly granted: number
  }[]
}

const START_MS = EPOCH_MS + 500 * 86_400_000

/** Carries an attack out, and returns how many units it had in the worst window. */
export function raid(policy: Policy, blows: readonly Blow[]): Raid {
  const spanMs = policy.windowMs
  const model = new Model([[drawnOf(policy)]])
  const grants: Grant[] = []
  const calls: Raid['calls'][number][] = []
  let atMs = START_MS
  let waitMs = 0
  for (const { when, n, units } of blows) {
    if (when === 'gap') atMs += units === 0 ? 0 : n
    else if (when === 'edge') atMs = Math.max(atMs, (Math.floor(atMs / spanMs) + 1) * spanMs + n)
    else if (when === 'span') atMs += Math.max(0, spanMs + n)
    else atMs += Math.max(0, waitMs + n)
    const nowUs = atMs * 1_000
    const grant = units === 0 ? grants[n % Math.max(1, grants.length)] : undefined
    if (units === 0 && (grant === undefined || grant.units === 0)) continue
    const request = grant === undefined ? asking(units) : givingBack(grant)
    const { granted, readings } = model.decide(request, nowUs)
    calls.push({ request, nowUs, granted })
    const [{ waitMs: wait, resetUs }] = readings as [(typeof readings)[number]]
    waitMs = wait
    if (grant !== undefined) grant.units = 0
    else if (granted > 0)
      grants.push({ atMs, units: granted, untilUs: [nowUs + resetUs], seenUs: nowUs })
  }
  return { held: worstWindow(grants, spanMs), calls }
}

function asking(units: number): Request {
  return { version: 0, mode: 'consume', key: 'a', costs: [1], count: units }
}

function givingBack({ units, untilUs, seenUs }: Grant): Request {
  return { version: 0, mode: 'refund', key: 'a', costs: [units], count: 1, untilUs, seenUs }
}

/**
 * The most units in any half-open window: units taken at 0 ms and at 60,000 ms are not in one
 * minute.
 */
function worstWindow(grants: readonly Grant[], spanMs: number): number {
  let worst = 0
  let first = 0
  let sum = 0
  for (const { atMs, units } of grants) {
    sum += units
    while ((grants[first] as Grant).atMs <= atMs - spanMs) {
      sum -= (grants[first] as Grant).units
      first += 1
    }
    worst = Math.max(worst, sum)
  }
  return worst
}

/**
 * The attacks of those who know where windows begin: everything just before an edge, and everything
 * just after it.
 */
export function edgeAttacks(limit: number): readonly (readonly Blow[])[] {
  const take = (when: Blow['when'], n: number, units = limit): Blow => ({ when, n, units })
  return [
    // Edges that are aligned to the epoch.
    [take('edge', -1), take('gap', 1), take('edge', -1), take('gap', 1)],
    // Edges that depend on the first request.
    [take('gap', 0, 1), take('span', -1), take('gap', 1), take('span', -1), take('gap', 1)],
    // Everything at the end of a window, and then whatever comes back.
    [take('edge', -1), ...Array.from({ length: 600 }, () => take('gap', 100))],
    [take('edge', -1), take('span', -1), take('gap', 1)],
  ]
}

/**
 * The attack of somebody who can have requests refunded, as late as possible. Each of many receipts
 * is made to say that its unit drains a whole window later, since it stands behind others that are
 * refunded at once.
 */
export function refundAttack({ limit, windowMs }: Policy): readonly Blow[] {
  const blows: Blow[] = []
  const giveBack = (grant: number): Blow => ({ when: 'gap', n: grant, units: 0 })
  const phantoms = Array.from({ length: limit - 1 }, (_, i) => i)
  for (const i of phantoms) {
    blows.push(
      { when: 'gap', n: 0, units: limit - 1 - i },
      { when: 'gap', n: 0, units: 1 },
      giveBack(2 * i),
    )
  }
  blows.push({ when: 'gap', n: windowMs - windowMs / limit, units: limit })
  blows.push(...phantoms.map((i) => giveBack(2 * i + 1)))
  blows.push({ when: 'gap', n: 0, units: limit }, { when: 'span', n: -1, units: limit })
  return blows
}

type Random = () => number

/** Searches for an attack: changes one at random, and continues from the change if it is no
 *  worse. */
export function search(policy: Policy, random: Random, tries: number): readonly Blow[] {
  const some = () => someBlow(policy, random)
  let best: readonly Blow[] = Array.from({ length: 8 }, some)
  let most = raid(policy, best).held
  let since = 0
  let champion = best
  let record = most
  for (let i = 0; i < tries; i += 1) {
    const changed = change(best, some, random)
    const { held } = raid(policy, changed)
    if (held >= most) {
      since = held > most ? 0 : since + 1
      best = changed
      most = held
    } else since += 1
    if (most > record) {
      champion = best
      record = most
    }
    // At a local maximum: begins again elsewhere.
    if (since > 400) {
      best = Array.from({ length: 8 }, some)
      most = raid(policy, best).held
      since = 0
    }
  }
  return champion
}

function change(blows: readonly Blow[], some: () => Blow, random: Random): readonly Blow[] {
  const changed = [...blows]
  const place = Math.floor(random() * changed.length)
  const kind = random()
  if (kind < 0.15 && changed.length < 24) changed.splice(place, 0, some())
  else if (kind < 0.3 && changed.length > 2) changed.splice(place, 1)
  else if (kind < 0.5) {
    const blow = changed[place] as Blow
    changed[place] = { ...blow, n: blow.n + Math.floor(random() * 5) - 2 }
  } else changed[place] = some()
  return changed.map((blow) => (blow.when === 'gap' && blow.n < 0 ? { ...blow, n: 0 } : blow))
}

function someBlow(policy: Policy, random: Random): Blow {
  const when = (['gap', 'gap', 'edge', 'span', 'retry'] as const)[
    Math.floor(random() * 5)
  ] as Blow['when']
  const n =
    when === 'gap' ? Math.floor(random() ** 3 * policy.windowMs) : Math.floor(random() * 4) - 2
  const amount = random()
  if (amount < 0.15) return { when, n: Math.floor(random() * 16), units: 0 }
  return { when, n, units: amount < 0.6 ? policy.limit : 1 + Math.floor(random() * policy.limit) }
}
