// Decisions that are asked for in one turn of the event loop travel in one call of the driver, and equal ones as one counted
// group, whose grants are handed out in the order in which the requests came.

import type { Mode, Reading } from '../../algorithms/driver.js'
import type { StoreError } from '../../base/errors.js'
import { resultOf, type StoreRequest, type StoreResult } from '../../store.js'
import { areOne, type CountedGroup, type Line } from './script-call.js'

/**
 * Groups in a call at the most. More would save neither side anything, and with several calls on their way Redis works on one
 * while this process makes the next: at 64 in flight that is half as many decisions again a second. It also bounds how
 * long the server is busy with one call, to some 0.1 ms for each policy.
 */
const MAX_GROUPS = 32

/** Someone who waits for an answer. */
export interface Waiter {
  /** @param sentMs when the call was sent, by performance.now() */
  answered(answer: StoreResult, sentMs: number): void
  failed(error: StoreError): void
  /** Of the units that it asked for ahead, so many were granted; the readings, which it may not keep, are those after all of
   *  them. */
  granted?(ahead: number, readings: readonly Reading[], nowUs: number): void
}

/** Equal requests, as one. */
export interface Entry extends CountedGroup {
  count: number
  readonly group: StoreRequest
  readonly waiters: Waiter[]
  /** Who asked for units ahead; `count` has them. */
  lessee: Waiter | undefined
}

/** What is sent in one call. */
export interface Batch {
  readonly line: Line
  readonly slot: number
  readonly mode: Mode
  /** The instant of the requests, if the clock is injected: a batch has one. */
  readonly nowUs: number | undefined
  readonly entries: readonly Entry[]
}

interface OpenBatch extends Batch {
  readonly entries: Entry[]
  /** The newest entry of each key that others may join; undefined while there is one entry at the most, since a request
   *  that comes alone had better not pay for a Map. */
  joinable: Map<string, Entry> | undefined
}

/** Gathers requests until the poll phase is over (setImmediate), so a lone one goes out in the same turn. */
export class Batches {
  readonly #send: (batch: Batch) => void
  /** By slot, the open batch of each line: a change of mode sends it, which keeps the order of a limiter's calls. */
  readonly #open: OpenBatch[][] = []
  /** All batches that were opened in this turn. */
  #opened: OpenBatch[] = []
  #scheduled = false

  constructor(send: (batch: Batch) => void) {
    this.#send = send
  }

  /** @param ahead units to be taken for later, beside those of the request */
  ask(
    line: Line,
    slot: number,
    group: StoreRequest,
    nowUs: number | undefined,
    waiter: Waiter,
    ahead: number = 0,
  ): void {
    let open = this.#open[slot]
    if (open === undefined) {
      open = []
      this.#open[slot] = open
    }
    let batch = open.find((each) => each.line === line)
    if (batch !== undefined && (batch.mode !== group.mode || batch.nowUs !== nowUs)) {
      this.#close(batch)
      batch = undefined
    }
    if (batch === undefined) {
      batch = { line, slot, mode: group.mode, nowUs, entries: [], joinable: undefined }
      open.push(batch)
      this.#opened.push(batch)
      this.#schedule()
    }
    const entry = entryOf(batch, group, waiter)
    if (ahead > 0) {
      entry.count += ahead
      entry.lessee = waiter
    }
    if (batch.entries.length >= MAX_GROUPS) this.#close(batch)
  }

  /** Sends what was asked for so far, so that what comes next on the connection comes after it. */
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
    this.#send(batch)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.flush()
    })
  }
}

/** The entry that the request joins, or a new one. */
function entryOf(batch: OpenBatch, group: StoreRequest, waiter: Waiter): Entry {
  const { key } = group
  const mayJoin = mayBeJoined(group, batch.mode)
  const [first] = batch.entries
  if (first !== undefined)
    batch.joinable ??= new Map(
      mayBeJoined(first.group, batch.mode) ? [[first.group.key, first]] : [],
    )
  const joined = mayJoin ? batch.joinable?.get(key) : undefined
  if (joined !== undefined) {
    joined.count += 1
    joined.waiters.push(waiter)
    return joined
  }
  const entry = { group, count: 1, waiters: [waiter], lessee: undefined }
  batch.entries.push(entry)
  if (mayJoin) batch.joinable?.set(key, entry)
  return entry
}

/** Only of requests of cost 1 do the figures of each follow from those of the last: see `rewind`. */
function mayBeJoined({ ownKeys, untilUs, costs }: StoreRequest, mode: Mode): boolean {
  return ownKeys === undefined && untilUs === undefined && mode !== 'penalty' && areOne(costs)
}

/** Tells the waiters of an entry. The first `granted` are allowed; the readings are those after all of them. */
export function handOut(
  entry: Entry,
  granted: number,
  readings: readonly Reading[],
  nowUs: number,
  sentMs: number,
): void {
  const { group, waiters } = entry
  const mustRewind = granted > 1 && group.mode === 'consume'
  const then = mustRewind ? readings.map((each) => ({ ...each })) : readings
  for (let i = 0; i < waiters.length; i += 1) {
    if (mustRewind) rewind(group, readings, Math.max(0, granted - 1 - i), then)
    ;(waiters[i] as Waiter).answered(resultOf(group, i < granted, nowUs, then), sentMs)
  }
  grantAhead(entry, granted, readings, nowUs)
}

/** What was granted beyond the requests of an entry goes to whoever asked for it. */
export function grantAhead(
  { waiters, lessee }: Entry,
  granted: number,
  readings: readonly Reading[],
  nowUs: number,
): void {
  lessee?.granted?.(Math.max(0, granted - waiters.length), readings, nowUs)
}

/** The readings as they stood before `later` more requests of cost 1 were granted: what was left follows from what is. */
export function rewind(
  { policySet }: StoreRequest,
  readings: readonly Reading[],
  later: number,
  into: readonly Reading[],
): void {
  for (let i = 0; i < readings.length; i += 1) {
    const { left, waitMs, resetUs } = readings[i] as Reading
    const then = into[i] as Reading
    // In eighths of a microsecond this is exact. An `until` must not be too early, or a refund would fall short.
    const drained = Math.round(later * (policySet.policies[i]?.unitMs ?? 0) * 8_000)
    then.left = left + later
    then.waitMs = then.left > 0 ? 0 : waitMs
    then.resetUs = Math.max(0, resetUs - Math.floor(drained / 8))
  }
}
