// Policies whose keys lie in different slots of a Cluster cannot be decided in one step. This layer
// asks slot by slot; when one slot denies, it gives back what the earlier ones granted. That is not
// atomic, but a refused request is charged nothing. All parts share one deadline, and no request
// waits until units are given back.

import { traitsOf } from '../algorithms/modes.js'
import type { Time } from '../base/time.js'
import { IGNORED, type Layer, type LayerRequest, promiseOf } from '../layer.js'
import { correctionOf, partOfRequest } from '../request.js'
import type { PolicyResult, StoreResult, Target } from '../store.js'

export interface AcrossSlotsOptions {
  readonly time: Time
  readonly deadlineMs: number
  /** The slots of a target's keys, in the order of its policies. */
  readonly slotsOf: (target: Target) => readonly number[]
}

export function acrossSlots(next: Layer, { time, deadlineMs, slotsOf }: AcrossSlotsOptions): Layer {
  /** Asks one part after the other. */
  async function askParts(request: LayerRequest, parts: readonly number[][]): Promise<StoreResult> {
    const { mode } = request
    const done: Part[] = []
    const failures: unknown[] = []
    let isDenied = false
    // A later part asks for no more than the earlier ones were granted; when it is granted less,
    // they give the difference back.
    let { deadlineAtMs, count } = request
    // The deadline counts from the end of this turn, like the first part's.
    if (deadlineAtMs === undefined) {
      time.soon(() => {
        deadlineAtMs = time.nowMs() + deadlineMs
      })
    }
    const { judges } = traitsOf(mode)
    for (const places of parts) {
      // Once one part is denied, the others only peek.
      const asked: LayerRequest =
        isDenied && request.mode === 'consume' ? { ...request, mode: 'peek' } : request
      const part: LayerRequest = { ...partOfRequest(asked, places), deadlineAtMs, count }
      try {
        const result = await promiseOf(next, part)
        const denies: boolean = judges && result.granted === 0 && !isDenied
        isDenied ||= denies
        if (mode === 'consume' && !isDenied) count = result.granted
        if (mode === 'consume' && (denies || !isDenied))
          for (const each of done) giveBack(each, denies ? 0 : count)
        done.push({ places, request: part, result })
      } catch (error) {
        if (mode === 'consume' && !isDenied) for (const each of done) giveBack(each, 0)
        // A decision is settled or refunded once, so its other parts are, all the same.
        if (request.untilUs === undefined) throw error
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
    return joined(request, done, !isDenied)
  }

  /**
   * Gives back what a part was granted beyond `granted`, with a separate deadline. Nobody waits for
   * that: the result already shows these units as left.
   */
  function giveBack(part: Part, granted: number): void {
    const { request, result } = part
    const times = result.granted - granted
    if (times === 0) return
    const costs = request.costs.map((cost) => times * cost)
    next.ask(correctionOf('refund', request.target, costs, result), IGNORED)
    const policies = result.policies.map((each) => {
      const remaining = Math.min(each.limit, each.remaining + times * each.cost)
      return { ...each, remaining, retryAfterMs: each.cost > 0 ? 0 : each.retryAfterMs }
    })
    part.result = { ...result, granted, policies }
  }

  return {
    ask(request, pending) {
      const { target } = request
      const parts = target.policyKeys === undefined ? [] : partsOf(target, slotsOf(target))
      if (parts.length < 2) next.ask(request, pending)
      else
        askParts(request, parts).then(pending.decided.bind(pending), pending.failed.bind(pending))
    },
  }
}

/** The places of a target's policies, by slot, smallest limits first: a request that these refuse
 *  has charged no other policy. Slots come last where an attempt would do harm if others then
 *  refuse it. */
function partsOf({ policySet }: Target, slots: readonly number[]): readonly number[][] {
  const bySlot = [...new Set(slots)].map((slot) => {
    return slots.flatMap((each, i) => (each === slot ? i : []))
  })
  const smallest = (places: readonly number[]) =>
    Math.min(...places.map((i) => policySet.policies[i]?.limit ?? 0))
  const turn = (places: readonly number[]) =>
    places.some((i) => policySet.policies[i]?.kernel?.traits.isAskedLast) ? 1 : 0
  return bySlot.sort((one, other) => {
    return turn(one) - turn(other) || smallest(one) - smallest(other)
  })
}

interface Part {
  readonly places: readonly number[]
  readonly request: LayerRequest
  result: StoreResult
}

function joined(
  { mode, target }: LayerRequest,
  parts: readonly Part[],
  allowed: boolean,
): StoreResult {
  const policies = new Array<PolicyResult>(target.policySet.policies.length)
  const untilUs: number[] = []
  for (const { places, result } of parts) {
    places.forEach((place, i) => {
      policies[place] = result.policies[i] as PolicyResult
      untilUs[place] = result.untilUs[i] as number
    })
  }
  const results = parts.map(({ result }) => result)
  const waits = results.flatMap(({ unavailableMs }) => unavailableMs ?? [])
  const sent = results.flatMap(({ sentAtMs }) => sentAtMs ?? [])
  return {
    granted: allowed ? grantedOf(mode, results) : 0,
    nowUs: (results[0] as StoreResult).nowUs,
    untilUs,
    policies,
    source: results.some(({ source }) => source === 'local') ? 'local' : 'store',
    degraded: results.some(({ degraded }) => degraded),
    unavailableMs: waits.length > 0 ? Math.max(...waits) : undefined,
    sentAtMs: sent.length === results.length ? sent[0] : undefined,
  }
}

/** How many all parts granted; for a mode that tells whether it changed anything, whether one part
 *  did. */
function grantedOf(mode: LayerRequest['mode'], results: readonly StoreResult[]): number {
  const all = results.map(({ granted }) => granted)
  return traitsOf(mode).tells ? Math.max(...all) : Math.min(...all)
}
