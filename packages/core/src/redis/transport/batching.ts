// Requests of one turn of the event loop travel in one call of the driver, and equal ones as one.

import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { Layer, LayerRequest, Pending } from '../../layers/layer.js'
import { areOne } from '../../request.js'
import type { PolicySet } from '../../store.js'
import { type Call, type Entry, type PreparedScript, prepareScript } from './call.js'
import { SLOTS } from './hash-slot.js'
import type { KeyFormat } from './keys.js'
import type { Nodes } from './nodes.js'

/**
 * Requests in a call at the most. More would save neither side anything, and with several calls on
 * their way Redis works on one while this process makes the next: at 64 in flight that is half as
 * many decisions again a second. It also bounds how long the server is busy with one call, to some
 * 0.1 ms for each policy.
 */
const MAX_REQUESTS = 32

interface OpenCall extends Call {
  /** Of its policy set and slot. */
  readonly id: number
  readonly entries: Entry[]
}

export interface BatchingOptions {
  readonly format: KeyFormat
  readonly nodes: Pick<Nodes, 'slotOf'>
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
}

/** Gathers requests until the poll phase is over, so that a lone one goes out in the same turn. */
export class Batching implements Layer {
  readonly #send: (call: Call) => void
  readonly #options: BatchingOptions
  #policySets = 0
  readonly #preparedOf: (policySet: PolicySet) => PreparedScript & { readonly firstId: number }
  readonly #open: Map<number, OpenCall> = new Map()

  constructor(send: (call: Call) => void, options: BatchingOptions) {
    this.#send = send
    this.#options = options
    this.#preparedOf = memoized((policySet) => {
      this.#policySets += 1
      return { ...prepareScript(options.format, policySet), firstId: this.#policySets * SLOTS }
    })
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { target, mode } = request
    const { nodes, clock, time } = this.#options
    const prepared = this.#preparedOf(target.policySet)
    const slot = nodes.slotOf(target)
    let nowUs: number | undefined
    try {
      nowUs = clock?.nowUs()
    } catch (error) {
      // A clock of the user's that went wrong.
      pending.failed(error)
      return
    }
    const id = prepared.firstId + slot
    let call = this.#open.get(id)
    if (call !== undefined && (call.mode !== mode || call.nowUs !== nowUs)) {
      // Sent first, which keeps the order of a limiter's requests.
      this.#close(call)
      call = undefined
    }
    if (call === undefined) {
      if (this.#open.size === 0) time.soon(() => this.flush())
      call = { id, prepared, slot, mode, nowUs, entries: [] }
      this.#open.set(id, call)
    }
    const { entries } = call
    const equal = isSingle(request) ? entries.find((each) => areEqual(each, request)) : undefined
    if (equal !== undefined) equal.pendings.push(pending)
    else if (entries.push({ request, pendings: [pending] }) >= MAX_REQUESTS) this.#close(call)
  }

  /** Sends what was asked for so far. */
  flush(): void {
    for (const call of this.#open.values()) this.#close(call)
  }

  #close(call: OpenCall): void {
    this.#open.delete(call.id)
    this.#send(call)
  }
}

function areEqual({ request }: Entry, single: LayerRequest): boolean {
  return request.target.key === single.target.key && isSingle(request)
}

/**
 * Whether equal ones may be decided as one. Only of requests of cost 1 do the results of each
 * follow from those of the last: see `rewind` in call.ts.
 */
function isSingle({ mode, target, untilUs, costs, count }: LayerRequest): boolean {
  if (mode === 'penalty' || mode === 'reset' || count !== 1) return false
  return target.ownKeys === undefined && untilUs === undefined && areOne(costs)
}
