// Policies of one decision whose keys lie in different slots of a Cluster cannot be decided in one
// step. They are asked slot by slot, and if one denies, the earlier ones are given back: not
// atomic, but nobody is charged for a refused request. All parts share one deadline.

import type { Time } from '../base/time.js'
import { partOfRequest } from '../request.js'
import type { PolicyResult, StoreResult, Target } from '../store.js'
import { IGNORED, type Layer, type LayerRequest, type Pending, promiseOf } from './layer.js'

export interface AcrossSlotsOptions {
  readonly time: Time
  readonly deadlineMs: number
  /** The slots of a target's keys, in the order of its policies. */
  readonly slotsOf: (target: Target) => readonly number[]
}

export class AcrossSlots implements Layer {
  readonly #next: Layer
  readonly #options: AcrossSlotsOptions

  constructor(next: Layer, options: AcrossSlotsOptions) {
    this.#next = next
    this.#options = options
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { target } = request
    const { slotsOf } = this.#options
    const parts = target.ownKeys === undefined ? [] : partsOf(target, slotsOf(target))
    if (parts.length < 2) {
      this.#next.ask(request, pending)
      return
    }
    this.#askParts(request, parts).then(
      (result) => pending.decided(result),
      (error) => pending.failed(error),
    )
  }

  /** Asks part after part. */
  async #askParts(request: LayerRequest, parts: readonly number[][]): Promise<StoreResult> {
    const { mode } = request
    const { time, deadlineMs } = this.#options
    const done: Part[] = []
    let isDenied = false
    let { deadlineAtMs } = request
    // Like that of the first part, it counts from the end of this turn.
    if (deadlineAtMs === undefined) {
      time.soon(() => {
        deadlineAtMs = time.nowMs() + deadlineMs
      })
    }
    for (const places of parts) {
      // Once one has denied, the others are only looked at.
      const partMode = isDenied && mode === 'consume' ? 'peek' : mode
      const part: LayerRequest = { ...partOfRequest(request, places), mode: partMode, deadlineAtMs }
      try {
        const result = await promiseOf(this.#next, part)
        done.push({ places, request: part, result })
        if (result.granted > 0 || isDenied) continue
        isDenied = true
        if (mode === 'consume') await this.#giveBack(done.slice(0, -1), deadlineAtMs)
      } catch (error) {
        if (mode === 'consume' && !isDenied) await this.#giveBack(done, deadlineAtMs)
        throw error
      }
    }
    return joined(request, done, !isDenied)
  }

  async #giveBack(parts: readonly Part[], deadlineAtMs: number | undefined): Promise<void> {
    for (const part of parts) {
      const { nowUs, untilUs, source } = part.result
      const receipt = { untilUs, seenUs: nowUs }
      const refund: LayerRequest = { ...part.request, ...receipt, mode: 'refund', deadlineAtMs }
      if (deadlineAtMs !== undefined && this.#options.time.nowMs() >= deadlineAtMs) {
        // Nobody can wait for it, so it has a deadline of its own.
        this.#next.ask({ ...refund, deadlineAtMs: undefined }, IGNORED)
        continue
      }
      const result = await promiseOf(this.#next, refund).catch(() => part.result)
      part.result = { ...result, source }
    }
  }
}

/** The places of a target's policies, by slot, the smallest limits first: what is refused there
 *  costs nobody else. */
function partsOf({ policySet }: Target, slots: readonly number[]): readonly number[][] {
  const bySlot = new Map<number, number[]>()
  slots.forEach((slot, i) => {
    bySlot.set(slot, [...(bySlot.get(slot) ?? []), i])
  })
  const smallest = (places: readonly number[]) =>
    Math.min(...places.map((i) => policySet.policies[i]?.limit ?? 0))
  return [...bySlot.values()].sort((one, other) => smallest(one) - smallest(other))
}

interface Part {
  readonly places: readonly number[]
  readonly request: LayerRequest
  result: StoreResult
}

function joined({ target }: LayerRequest, parts: readonly Part[], allowed: boolean): StoreResult {
  const policies: PolicyResult[] = []
  const untilUs: number[] = []
  for (const { places, result } of parts) {
    places.forEach((place, i) => {
      policies[place] = result.policies[i] as PolicyResult
      untilUs[place] = result.untilUs[i] as number
    })
  }
  const results = parts.map(({ result }) => result)
  const waits = results.flatMap(({ unavailableMs }) => unavailableMs ?? [])
  const isLocal = results.some(({ source }) => source === 'local')
  return {
    granted: allowed ? Math.min(...results.map(({ granted }) => granted)) : 0,
    nowUs: (results[0] as StoreResult).nowUs,
    untilUs,
    policies: target.policySet.policies.map((_, i) => policies[i] as PolicyResult),
    source: isLocal ? 'local' : 'store',
    degraded: results.some(({ degraded }) => degraded),
    unavailableMs: waits.length > 0 ? Math.max(...waits) : undefined,
    sentAtMs: results.some(({ sentAtMs }) => sentAtMs === undefined)
      ? undefined
      : results[0]?.sentAtMs,
  }
}
