// The driver: one request on the TypeScript kernels. Twin of driver.lua, which does the same for
// many requests in one call.

import type { Cells, Kernel, Scratch } from './algorithm.js'

/**
 * - consume: take if all policies allow it
 * - peek: judge as consume would, change nothing
 * - refund: give back
 * - penalty: take, past the limit if need be
 * - reconcile: take what was taken elsewhere meanwhile, as far as it still weighs
 * - restore: make the usage at least what was seen before, where it was lost; the costs are the
 *   units seen in use
 */
export type Mode = 'consume' | 'peek' | 'refund' | 'penalty' | 'reconcile' | 'restore'

/** What is asked of the counters. */
export interface CounterRequest {
  readonly mode: Mode
  /** Units for each policy; to restore, the units that were seen in use. */
  readonly costs: readonly number[]
  /** How many equal requests it stands for; they get what they would get one by one. Default 1. */
  readonly count?: number
  /** To refund, reconcile or restore: for each policy, until when (in us) the units weigh. */
  readonly untilUs?: readonly (number | undefined)[] | undefined
  /** To refund by receipt: when (in us) it was charged. */
  readonly seenUs?: number | undefined
}

/** Where states of one policy live in this process. */
export interface Table {
  /** The slot of a key; -1: it has none. */
  slotOf(key: string, nowUs: number): number
  cellsOf(slot: number): Cells
  offsetOf(slot: number): number
  /** Lets the kernel write the state of the key, which matters for `resetMs` from now. */
  write(
    key: string,
    slot: number,
    kernel: Kernel,
    scratch: Scratch,
    nowMs: number,
    resetMs: number,
  ): void
  remove(key: string, slot: number): void
  /** Removes on purpose, and remembers that for a while. */
  forget(key: string, slot: number, nowUs: number): void
  /** When a key was last forgotten on purpose; undefined: not lately. */
  forgottenUs(key: string): number | undefined
  /** Remembers for a while when units of a key were last given back. */
  gave(key: string, nowUs: number): void
  /** When units of a key were last given back; undefined: not lately. */
  gaveUs(key: string): number | undefined
}

/** What one policy of a decision counts with: its arithmetic, with its numbers, and its states. */
export interface Counter {
  readonly kernel: Kernel
  readonly scratch: Scratch
  readonly table: Table
  slot: number
}

/** What a kernel says of one policy, before it becomes part of a decision. -1 as a wait: never. */
export interface Reading {
  left: number
  waitMs: number
  resetUs: number
}

/**
 * Decides a request. Fills a reading for each counter, and returns how often the request is
 * granted; to restore, 0 if nothing was lost.
 */
export function decide(
  counters: readonly Counter[],
  keys: readonly string[],
  request: CounterRequest,
  nowUs: number,
  readings: readonly Reading[],
): number {
  const { mode, costs, count = 1 } = request
  const chargedUs = mode === 'refund' ? request.seenUs : undefined
  const judged = mode === 'consume' || mode === 'peek'
  let granted = count
  for (let i = 0; i < counters.length; i += 1) {
    const counter = counters[i] as Counter
    const cost = costs[i] as number
    const left = read(counter, keys[i] as string, nowUs)
    ;(readings[i] as Reading).left = left
    if (judged && left < granted * cost) granted = Math.floor(left / cost)
  }
  if (mode === 'peek' && granted > 0) granted = count

  for (let i = 0; i < counters.length; i += 1) {
    const counter = counters[i] as Counter
    const { kernel, scratch } = counter
    const reading = readings[i] as Reading
    const key = keys[i] as string
    const cost = costs[i] as number
    const units = granted * cost
    if (units > 0 && mode !== 'peek' && !wasForgotten(counter, key, chargedUs)) {
      reading.left = move(counter, key, mode, units, request.untilUs?.[i], chargedUs)
    }
    reading.waitMs = granted < count && cost > 0 ? kernel.retryAfterMs(scratch, cost) : 0
    if (reading.waitMs === 0 && reading.left < 1) reading.waitMs = kernel.retryAfterMs(scratch, 1)
    reading.resetUs = kernel.resetAfterUs(scratch)
  }

  if (mode === 'peek') return granted
  let changed = 0
  for (let i = 0; i < counters.length; i += 1) {
    const counter = counters[i] as Counter
    if (!counter.scratch.dirty || costs[i] === 0) continue
    write(counter, keys[i] as string, mode, nowUs, (readings[i] as Reading).resetUs)
    changed = 1
  }
  return mode === 'restore' ? changed : granted
}

/**
 * What was charged until a key was forgotten is not given back: it would be the units of others.
 */
function wasForgotten({ table }: Counter, key: string, chargedUs: number | undefined): boolean {
  return chargedUs !== undefined && (table.forgottenUs(key) ?? 0) >= chargedUs
}

function move(
  { kernel, scratch, table }: Counter,
  key: string,
  mode: Mode,
  units: number,
  untilUs: number | undefined,
  chargedUs: number | undefined,
): number {
  if (mode === 'refund') {
    const isOlder = chargedUs !== undefined && (table.gaveUs(key) ?? 0) >= chargedUs
    return kernel.refund(scratch, units, untilUs, isOlder ? chargedUs : undefined)
  }
  if (mode === 'reconcile') return kernel.reconcile(scratch, units, untilUs as number)
  if (mode === 'restore') return kernel.restore(scratch, units, untilUs as number)
  return kernel.take(scratch, units)
}

function read(counter: Counter, key: string, nowUs: number): number {
  const { kernel, scratch, table } = counter
  const slot = table.slotOf(key, nowUs)
  counter.slot = slot
  if (slot < 0) return kernel.read(scratch, undefined, 0, nowUs)
  return kernel.read(scratch, table.cellsOf(slot), table.offsetOf(slot), nowUs)
}

function write(
  { kernel, scratch, table, slot }: Counter,
  key: string,
  mode: Mode,
  nowUs: number,
  resetUs: number,
): void {
  if (mode === 'refund') table.gave(key, nowUs)
  if (resetUs > 0)
    table.write(key, slot, kernel, scratch, Math.floor(nowUs / 1_000), Math.ceil(resetUs / 1_000))
  // What is charged in the same instant is charged after it.
  else if (slot >= 0 && mode === 'refund') table.forget(key, slot, nowUs - 1)
  else if (slot >= 0) table.remove(key, slot)
}
