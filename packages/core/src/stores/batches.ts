// Decisions that are asked for in one turn of the event loop travel in one call of the driver, and equal ones as one counted
// group, whose grants are handed out in the order in which the requests came.

import { StoreError } from '../errors.js'
import type { Mode } from '../kernels/driver.js'
import { type Answer, answerOf, type Group } from '../store.js'
import { encodePart } from './keys.js'
import { type CountedGroup, decideGroups, type Line, type RedisLike } from './redis-call.js'
import { slotOf } from './slots.js'

/** Keys in a call at the most: bounds how long the server is busy with it, well under a millisecond. */
const MAX_KEYS = 256

/** Someone who waits for an answer. */
export interface Waiter {
  answered(answer: Answer): void
  failed(error: StoreError): void
}

/** Equal requests, as one. */
interface Entry extends CountedGroup {
  count: number
  readonly group: Group
  readonly waiters: Waiter[]
}

interface Batch {
  readonly line: Line
  readonly slot: number
  readonly mode: Mode
  readonly nowUs: number | undefined
  readonly entries: Entry[]
  /** The newest entry of each key that others may join. */
  readonly joinable: Map<string, Entry>
}

/**
 * Gathers decisions until the poll phase is over (setImmediate), so a lone one goes out in the same turn; several calls
 * may be in flight. `nowUs`, if the clock is injected, is the instant of the request: a batch has one.
 */
export class Batches {
  readonly #client: RedisLike
  readonly #bySlot: boolean
  /** One open batch per line and slot: a change of mode sends it, which keeps the order of a limiter's calls. */
  readonly #open: Map<Line, Map<number, Batch>> = new Map()
  #scheduled = false

  constructor(client: RedisLike) {
    this.#client = client
    this.#bySlot = client.isCluster === true
  }

  ask(line: Line, group: Group, nowUs: number | undefined, waiter: Waiter): void {
    const slot = this.#bySlot ? slotOfSubject(group) : 0
    let open = this.#open.get(line)
    if (open === undefined) {
      open = new Map()
      this.#open.set(line, open)
    }
    let batch = open.get(slot)
    if (batch !== undefined && (batch.mode !== group.mode || batch.nowUs !== nowUs)) {
      this.#send(batch)
      batch = undefined
    }
    if (batch === undefined) {
      batch = { line, slot, mode: group.mode, nowUs, entries: [], joinable: new Map() }
      open.set(slot, batch)
      this.#schedule()
    }
    add(batch, group, waiter)
    if (batch.entries.length * line.plan.policies.length >= MAX_KEYS) this.#send(batch)
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      for (const open of this.#open.values()) for (const batch of open.values()) this.#send(batch)
      this.#open.clear()
    })
  }

  #send(batch: Batch): void {
    const { line, slot, mode, entries, nowUs } = batch
    this.#open.get(line)?.delete(slot)
    decideGroups(this.#client, line, mode, entries, nowUs).then(
      (reply) => {
        for (let i = 0; i < entries.length; i += 1) {
          const verdict = reply.verdicts[i] as (typeof reply.verdicts)[number]
          const entry = entries[i] as Entry
          if (verdict instanceof StoreError) for (const waiter of entry.waiters) waiter.failed(verdict)
          else handOut(entry, verdict.granted, reply.nowUs, verdict.readings)
        }
      },
      (error: StoreError) => {
        for (const { waiters } of entries) for (const waiter of waiters) waiter.failed(error)
      },
    )
  }
}

function add(batch: Batch, group: Group, waiter: Waiter): void {
  const { key, ownKeys, costs, untilUs, plan } = group
  const mayJoin = ownKeys === undefined && untilUs === undefined
  const joined = mayJoin ? batch.joinable.get(key) : undefined
  if (joined !== undefined && sameCosts(joined.costs, costs)) {
    joined.count += 1
    joined.waiters.push(waiter)
    return
  }
  const entry = { plan, key, ownKeys, costs, untilUs, count: 1, group, waiters: [waiter] }
  batch.entries.push(entry)
  if (mayJoin) batch.joinable.set(key, entry)
}

function sameCosts(some: readonly number[], others: readonly number[]): boolean {
  for (let i = 0; i < some.length; i += 1) if (some[i] !== others[i]) return false
  return true
}

type Readings = Parameters<typeof answerOf>[3]

/** Of a Cluster, a call reaches one node, by the slot that all its keys must share. */
function slotOfSubject({ key, ownKeys }: Group): number {
  return slotOf(encodePart(ownKeys?.[0]?.tag ?? key))
}

/** The first `granted` waiters are allowed. What was left after each of them follows from what is left after all. */
function handOut({ group, waiters }: Entry, granted: number, nowUs: number, readings: Readings): void {
  const last = granted < waiters.length ? granted : waiters.length
  for (let i = 0; i < waiters.length; i += 1) {
    const later = last - 1 - i
    const own = later > 0 && group.mode !== 'peek' ? earlier(group, readings, later) : readings
    ;(waiters[i] as Waiter).answered(answerOf(group, i < granted, nowUs, own))
  }
}

/** The readings as they stood before `later` more equal requests were granted. */
function earlier({ plan, costs, mode }: Group, readings: Readings, later: number): Readings {
  return readings.map(({ left, waitMs, resetUs }, i) => {
    const units = mode === 'refund' ? 0 : later * (costs[i] as number)
    const drained = Math.ceil(units * (plan.policies[i]?.unitMs ?? 0) * 1_000)
    // A charge past the limit leaves nothing, and how far past it each was is not known.
    if (left === 0 && mode === 'charge') return { left, waitMs, resetUs: Math.max(0, resetUs - drained) }
    return { left: left + units, waitMs: units > 0 ? 0 : waitMs, resetUs: Math.max(0, resetUs - drained) }
  })
}
