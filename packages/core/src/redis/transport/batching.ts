// Requests of one turn of the event loop travel in one call of the driver, and equal ones as one
// counted request, whose grants are handed out in the order in which the requests came.

import type { Reading } from '../../algorithms/driver.js'
import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import type { Time } from '../../base/time.js'
import type { Layer, LayerRequest, Pending } from '../../layers/layer.js'
import { areOne, resultOf } from '../../request.js'
import type { PolicySet } from '../../store.js'
import { type CountedRequest, type PreparedScript, prepareScript } from './call.js'
import type { KeyFormat } from './keys.js'
import type { Nodes } from './nodes.js'

/**
 * Requests in a call at the most. More would save neither side anything, and with several calls on
 * their way Redis works on one while this process makes the next: at 64 in flight that is half as
 * many decisions again a second. It also bounds how long the server is busy with one call, to some
 * 0.1 ms for each policy.
 */
const MAX_REQUESTS = 32

/** Equal requests, as one. */
export interface Entry extends CountedRequest {
  count: number
  readonly request: LayerRequest
  readonly pendings: Pending[]
  /** Who asked for several requests at once, which are granted last. */
  several: { readonly pending: Pending; readonly count: number } | undefined
}

/** What is sent in one call. */
export interface Batch {
  readonly prepared: PreparedScript
  readonly slot: number
  readonly mode: LayerRequest['mode']
  /** The instant of the requests, if the clock is injected: a batch has one. */
  readonly nowUs: number | undefined
  readonly entries: readonly Entry[]
}

interface OpenBatch extends Batch {
  readonly entries: Entry[]
  /** The newest entry of each key that others may join; undefined while there is one entry at the
   *  most, since a request that comes alone had better not pay for a Map. */
  joinable: Map<string, Entry> | undefined
}

export interface BatchingOptions {
  readonly format: KeyFormat
  readonly nodes: Pick<Nodes, 'isCluster' | 'slotOf'>
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
}

/** Gathers requests until the poll phase is over, so that a lone one goes out in the same turn. */
export class Batching implements Layer {
  readonly #dispatcher: { send(batch: Batch): void }
  readonly #options: BatchingOptions
  readonly #preparedOf: (policySet: PolicySet) => PreparedScript
  /** By slot, the open batch of each policy set: a change of mode sends it, which keeps the order
   *  of a limiter's calls. */
  readonly #open: OpenBatch[][] = []
  /** All batches that were opened in this turn. */
  #opened: OpenBatch[] = []
  #isScheduled = false

  constructor(dispatcher: { send(batch: Batch): void }, options: BatchingOptions) {
    this.#dispatcher = dispatcher
    this.#options = options
    this.#preparedOf = memoized((policySet) => prepareScript(options.format, policySet))
  }

  ask(request: LayerRequest, pending: Pending): void {
    const { target, mode } = request
    const { nodes, clock } = this.#options
    const prepared = this.#preparedOf(target.policySet)
    const slot = nodes.isCluster ? nodes.slotOf(target) : 0
    let nowUs: number | undefined
    try {
      nowUs = clock?.nowUs()
    } catch (error) {
      // A clock of the user's that went wrong.
      pending.failed(error)
      return
    }
    let open = this.#open[slot]
    if (open === undefined) {
      open = []
      this.#open[slot] = open
    }
    let batch = open.find((each) => each.prepared === prepared)
    if (batch !== undefined && (batch.mode !== mode || batch.nowUs !== nowUs)) {
      this.#close(batch)
      batch = undefined
    }
    if (batch === undefined) {
      batch = { prepared, slot, mode, nowUs, entries: [], joinable: undefined }
      open.push(batch)
      this.#opened.push(batch)
      this.#schedule()
    }
    add(batch, request, pending)
    if (batch.entries.length >= MAX_REQUESTS) this.#close(batch)
  }

  /** Sends what was asked for so far. */
  flush(): void {
    const opened = this.#opened
    this.#opened = []
    for (const batch of opened) this.#close(batch)
  }

  #close(batch: OpenBatch): void {
    const open = this.#open[batch.slot] as OpenBatch[]
    const at = open.indexOf(batch)
    // It was full, or others had to come after it.
    if (at < 0) return
    open.splice(at, 1)
    this.#dispatcher.send(batch)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.time.soon(() => {
      this.#isScheduled = false
      this.flush()
    })
  }
}

/** Adds a request to a batch, as an entry of its own or to an equal one. */
function add(batch: OpenBatch, request: LayerRequest, pending: Pending): void {
  const { key } = request.target
  const { count } = request
  const mayJoin = mayBeJoined(request)
  const [first] = batch.entries
  if (first !== undefined) {
    batch.joinable ??= new Map(
      mayBeJoined(first.request) ? [[first.request.target.key, first]] : [],
    )
  }
  const several = count > 1 ? { pending, count } : undefined
  const joined = mayJoin ? batch.joinable?.get(key) : undefined
  if (joined !== undefined && (several === undefined || joined.several === undefined)) {
    joined.count += count
    if (several === undefined) joined.pendings.push(pending)
    else joined.several = several
    return
  }
  const pendings = several === undefined ? [pending] : []
  const entry = { request, count, pendings, several }
  batch.entries.push(entry)
  if (mayJoin) batch.joinable?.set(key, entry)
}

/**
 * Only of requests of cost 1 do the results of each follow from those of the last: see `rewind`.
 */
function mayBeJoined({ mode, target, untilUs, costs }: LayerRequest): boolean {
  if (mode === 'penalty' || mode === 'reset') return false
  return target.ownKeys === undefined && untilUs === undefined && areOne(costs)
}

/** Tells those who wait what was granted. The readings are those after all of it. */
export function handOut(
  { request, pendings, several }: Entry,
  granted: number,
  readings: readonly Reading[],
  nowUs: number,
  sentAtMs: number,
): void {
  const mustRewind = granted > 1 && request.mode === 'consume'
  const then = mustRewind ? readings.map((each) => ({ ...each })) : readings
  for (let i = 0; i < pendings.length; i += 1) {
    if (mustRewind) rewind(request, readings, Math.max(0, granted - 1 - i), then)
    const own = i < granted ? 1 : 0
    ;(pendings[i] as Pending).decided(resultOf(request, own, nowUs, then, sentAtMs))
  }
  if (several === undefined) return
  const rest = Math.max(0, Math.min(several.count, granted - pendings.length))
  several.pending.decided(resultOf(request, rest, nowUs, readings, sentAtMs))
}

/** The readings as they stood before `later` more requests of cost 1 were granted. */
function rewind(
  { target }: Pick<LayerRequest, 'target'>,
  readings: readonly Reading[],
  later: number,
  into: readonly Reading[],
): void {
  for (let i = 0; i < readings.length; i += 1) {
    const { left, waitMs, resetUs } = readings[i] as Reading
    const then = into[i] as Reading
    // In eighths of a microsecond this is exact. An `until` must not be too early, or a refund
    // would fall short.
    const drained = Math.round(later * (target.policySet.policies[i]?.unitMs ?? 0) * 8_000)
    then.left = left + later
    then.waitMs = then.left > 0 ? 0 : waitMs
    then.resetUs = Math.max(0, resetUs - Math.floor(drained / 8))
  }
}

export function fail({ pendings, several }: Entry, error: unknown): void {
  for (const pending of pendings) pending.failed(error)
  several?.pending.failed(error)
}
