// The driver: decides one request with the TypeScript kernels. Twin of driver.lua, which does the
// same for many requests in one call.

import { type Kernel, lifeUsOf, type Scratch } from './algorithm.js'
import { type Mode, traitsOf } from './modes.js'

/** A request to the counters. */
export interface CounterRequest {
  readonly mode: Mode
  /** Units for each policy; to restore, the units that were seen in use. */
  readonly costs: readonly number[]
  /** How many equal requests this one stands for; they get what they would get one by one. Default
   *  1. */
  readonly count?: number
  /** To consume or peek: grant nothing unless at least this many of `count` fit. Default 1. */
  readonly atLeast?: number | undefined
  /** To consume or peek: how long, in ms, the caller waits for a turn. Only a lone counter reserves
   *  one. */
  readonly maxWaitMs?: number | undefined
  /** To consume: for how long, in ms, the units taken may be spent. They count as if all were spent
   *  at the end of that time. */
  readonly aheadMs?: number | undefined
  /** To consume or peek: for each policy, units that must remain. Costs of 0 ignore it. */
  readonly keep?: readonly number[] | undefined
  /** To settle: for each policy, what was charged. */
  readonly charged?: readonly number[] | undefined
  /** To give back, reconcile or restore: for each policy, until when (in us) the units count. */
  readonly untilUs?: readonly (number | undefined)[] | undefined
  /** To give back by receipt: when (in us) the units were charged. To restore: when they were
   *  seen. */
  readonly seenUs?: number | undefined
  /** To restore: since when (in us) something may be lost. What others have restored since then is
   *  the base; default: nobody has. */
  readonly lossUs?: number | undefined
}

/** Where one policy's states live in this process. */
export interface Table {
  readonly marks: Marks
  /** Reads a key's state into the scratch. Returns its slot; -1: it has none. */
  read(scratch: Scratch, key: string, nowUs: number): number
  /** Writes the state of the key, which matters for `resetMs` from now. */
  write(scratch: Scratch, key: string, slot: number, nowMs: number, resetMs: number): void
  remove(key: string, slot: number): void
}

/**
 * When a key was last forgotten on purpose, and when units of it were last given back; 0: never.
 */
export interface Mark {
  forgottenUs: number
  gaveUs: number
  /** What has been restored since a loss (see `Kernel.restore`), and when that began; undefined:
   *  nothing. */
  base?: number | undefined
  begunUs?: number | undefined
}

/** How long a reset is remembered where nothing is known of the key: units charged to it may still
 *  count for a while. */
export const FORGOTTEN_MS = 60_000

/** By how much a clock may have stepped back when units were given back. */
const STEP_US = 100_000

/** The marks of a table's keys, each kept as long as units charged before it count. */
export interface Marks {
  /** The mark of a key. After the next call, the object may be another key's mark. */
  of(key: string): Mark
  /** Brings a key's mark up to these times, and keeps it for at least `lifeMs` from now. A base
   *  replaces the one before; without one, it is forgotten. */
  set(key: string, mark: Mark, nowMs: number, lifeMs: number): void
}

/** What one policy of a decision counts with: its kernel, its numbers and its states. */
export interface Counter {
  readonly kernel: Kernel
  readonly scratch: Scratch
  readonly table: Table
  slot: number
}

/** What a kernel says of one policy, before it becomes part of a decision. -1 as a wait: never. */
export interface Reading {
  /** Units that were in use before the request; undefined: a call to Redis did not say. */
  used?: number | undefined
  left: number
  waitMs: number
  resetUs: number
}

/**
 * Decides a request. Fills a reading for each counter, and returns how often the request is
 * granted; to restore, 0 if nothing was lost; to renew, 0 if the key was forgotten since.
 */
export function decide(
  counters: readonly Counter[],
  keys: readonly string[],
  request: CounterRequest,
  nowUs: number,
  readings: readonly Reading[],
): number {
  const { mode, costs, count = 1, atLeast, aheadMs, charged } = request
  const { judges, changes, takes, tells } = traitsOf(mode)
  const keep = judges ? request.keep : undefined
  let granted = count
  let mayBegin = false
  for (let i = 0; i < counters.length; i += 1) {
    const counter = counters[i] as Counter
    const { kernel, scratch, table } = counter
    const cost = costs[i] as number
    counter.slot = table.read(scratch, keys[i] as string, nowUs)
    if (aheadMs !== undefined && cost > 0) kernel.ahead?.(scratch, nowUs + aheadMs * 1_000)
    const kept = keep === undefined || cost === 0 ? 0 : (keep[i] as number)
    const reading = readings[i] as Reading
    reading.used = kernel.used(scratch)
    const left = Math.max(0, scratch.limit - reading.used - kept)
    reading.left = left
    if (!judges || left >= granted * cost) continue
    const within =
      request.maxWaitMs === undefined ? left : reservable(counters, request, left, kept)
    if (within >= granted * cost) continue
    granted = Math.floor(within / cost)
    mayBegin ||= kernel.mayBegin !== undefined
  }
  const others = mayBegin ? grantedByOthers(counters, costs, readings, count) : 0
  if (atLeast === undefined && keep === undefined) {
    if (!changes && granted > 0) granted = count
  } else if (granted < (atLeast ?? 1)) granted = 0
  // A process that is refused a lease learns what is left without it.
  if (aheadMs !== undefined && granted === 0) readAgain(counters, keys, request, nowUs, readings)

  for (let i = 0; i < counters.length; i += 1) {
    const counter = counters[i] as Counter
    const { kernel, scratch } = counter
    const reading = readings[i] as Reading
    const cost = costs[i] as number
    const units = granted * cost
    const kept = keep === undefined || cost === 0 ? 0 : (keep[i] as number)
    const settles = charged !== undefined && kernel.settle !== undefined
    // To restore nothing sets the base.
    if (changes && (units !== 0 || settles || mode === 'restore')) {
      if (takes && units > 0 && !settles) {
        if (judges || kernel.spend === undefined) kernel.take(scratch, units)
        else kernel.spend(scratch, units)
      } else correct(counter, keys[i] as string, request, i, Math.abs(units), nowUs)
      reading.left = Math.max(0, scratch.limit - kernel.used(scratch) - kept)
    }
    if (granted < others && cost > 0) kernel.refuse?.(scratch)
    let asked = granted < count && cost > 1 ? cost : 1
    if (granted === 0 && cost > 0 && atLeast !== undefined) asked = atLeast * cost
    reading.waitMs = 0
    if (reading.left < asked) {
      asked += kept
      reading.waitMs = asked > scratch.limit ? -1 : kernel.retryAfterMs(scratch, asked)
    }
    reading.resetUs = kernel.resetAfterUs(scratch)
  }

  if (!changes) return granted
  let changed = 0
  for (let i = 0; i < counters.length; i += 1) {
    const { kernel, scratch, table, slot } = counters[i] as Counter
    if (!scratch.dirty) continue
    if (costs[i] === 0 && (charged === undefined || kernel.settle === undefined)) continue
    const key = keys[i] as string
    const { resetUs } = readings[i] as Reading
    const lifeUs = kernel.lifeUs === undefined ? resetUs : kernel.lifeUs(scratch)
    if (resetUs > 0)
      table.write(scratch, key, slot, Math.floor(nowUs / 1_000), Math.ceil(lifeUs / 1_000))
    else if (slot >= 0) table.remove(key, slot)
    changed = 1
  }
  return tells ? changed : granted
}

function readAgain(
  counters: readonly Counter[],
  keys: readonly string[],
  { costs, keep }: CounterRequest,
  nowUs: number,
  readings: readonly Reading[],
): void {
  for (let i = 0; i < counters.length; i += 1) {
    const { kernel, scratch, table } = counters[i] as Counter
    table.read(scratch, keys[i] as string, nowUs)
    const kept = keep === undefined || costs[i] === 0 ? 0 : (keep[i] as number)
    ;(readings[i] as Reading).left = Math.max(0, scratch.limit - kernel.used(scratch) - kept)
  }
}

/** How many of `count` are granted by the counters that cannot begin a block. */
function grantedByOthers(
  counters: readonly Counter[],
  costs: readonly number[],
  readings: readonly Reading[],
  count: number,
): number {
  let granted = count
  for (let i = 0; i < counters.length; i += 1) {
    const { kernel, scratch } = counters[i] as Counter
    const cost = costs[i] as number
    const { left } = readings[i] as Reading
    if (left < granted * cost && kernel.mayBegin?.(scratch) !== true)
      granted = Math.floor(left / cost)
  }
  return granted
}

/** The units left; for a lone counter, those that it can promise within the time that a request
 *  waits. */
function reservable(
  counters: readonly Counter[],
  { costs, maxWaitMs = 0 }: CounterRequest,
  left: number,
  kept: number,
): number {
  const { kernel, scratch } = counters[0] as Counter
  const isAbove = (costs[0] as number) + kept > scratch.limit
  if (counters.length > 1 || isAbove || kernel.within === undefined) return left
  return Math.max(left, kernel.within(scratch, maxWaitMs) - kept)
}

/** Corrects a counter as far as its mark allows, if the units count for a whole ms or more. */
function correct(
  { kernel, scratch, table, slot }: Counter,
  key: string,
  request: CounterRequest,
  place: number,
  units: number,
  nowUs: number,
): void {
  const { mode, seenUs = Number.POSITIVE_INFINITY, lossUs = Number.POSITIVE_INFINITY } = request
  const untilUs = request.untilUs?.[place] ?? Number.POSITIVE_INFINITY
  const charged = kernel.settle && request.charged?.[place]
  const { correction, notes } = traitsOf(mode)
  const isOver = Math.floor(untilUs / 1_000) <= Math.floor(nowUs / 1_000)
  const isLate = isOver && kernel.lifeUs === undefined
  const isForExpired = correction === 'renew' || correction === 'restore' || charged !== undefined
  if (isLate && !isForExpired) return
  if (correction === 'reconcile') {
    kernel.reconcile(scratch, units, untilUs)
    return
  }
  if (correction === 'block') {
    kernel.block?.(scratch, units)
    return
  }
  const { forgottenUs, gaveUs, base, begunUs = Number.NEGATIVE_INFINITY } = table.marks.of(key)
  if (correction === 'restore') {
    // Units that were forgotten or given back since they were seen were not lost.
    const goneUs = Math.max(forgottenUs, gaveUs)
    const isGone = goneUs > 0 && goneUs + STEP_US >= seenUs
    if (isGone || kernel.restore === undefined) return
    // What was seen since a restore was lost another time.
    const known = begunUs >= Math.max(lossUs, seenUs) ? base : undefined
    // Where all that was seen has expired, what the counter holds is the base.
    const raised = isLate
      ? kernel.restore(scratch, 0, Number.POSITIVE_INFINITY, known)
      : kernel.restore(scratch, units, untilUs, known)
    // If one result seemed to show a loss, and nothing was lost, there is no base.
    if (raised === known || (!scratch.dirty && lossUs > seenUs)) return
    const mark = {
      forgottenUs: 0,
      gaveUs: 0,
      base: raised,
      begunUs: known === undefined ? nowUs : begunUs,
    }
    const lifeMs = Math.ceil(lifeUsOf(kernel, scratch) / 1_000)
    table.marks.set(key, mark, nowUs / 1_000, Math.max(lifeMs, FORGOTTEN_MS))
    return
  }
  // Units charged before the key was forgotten would be the units of others.
  if (forgottenUs >= seenUs) return
  if (correction === 'renew') {
    kernel.renew?.(scratch, units, untilUs)
    return
  }
  const lifeMs = Math.ceil(lifeUsOf(kernel, scratch) / 1_000)
  const cost = request.costs[place] as number
  if (charged !== undefined) kernel.settle?.(scratch, charged, charged + cost, untilUs, seenUs)
  else if (correction === 'unblock') kernel.unblock?.(scratch)
  else if (correction === 'cancel' && kernel.cancel !== undefined)
    kernel.cancel(scratch, units, untilUs)
  else kernel.refund(scratch, units, untilUs, gaveUs >= seenUs ? seenUs : undefined)
  if (!scratch.dirty || !notes || !kernel.traits.restores) return
  if (charged !== undefined && cost >= 0) return
  // Units charged in the same instant count as charged after the refund; a reset in that instant
  // was later. Units that have expired may still be renewed or settled: no refund forgets them.
  const mayReturn = kernel.traits.isHeld || kernel.settle !== undefined
  const isForgotten = !mayReturn && slot >= 0 && kernel.resetAfterUs(scratch) <= 0
  const mark = { forgottenUs: isForgotten ? nowUs - 1 : 0, gaveUs: nowUs }
  table.marks.set(key, mark, nowUs / 1_000, lifeMs)
}
