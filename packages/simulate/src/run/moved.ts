// Kernels store times from 2025 to 2045. A log from other years is moved there as a whole, by a
// time that changes no decision: a common multiple of all windows that lie on a grid.

import type { Policy } from '@weir/core'
import { kernelOf, quote } from '@weir/core/internal'
import { misused } from '../errors.js'
import { gridOf } from './algorithms.js'

const FIRST_US = Date.UTC(2025, 0, 1) * 1_000
const LAST_US = Date.UTC(2045, 0, 1) * 1_000
/** Kept free at both ends, for entries out of order and for states that outlive the log. */
const ROOM_US = 30 * 86_400_000_000
const MIDDLE_US = Date.UTC(2030, 0, 1) * 1_000
const YEAR_US = 365 * 86_400_000_000
const LONGEST_MS = (5 * YEAR_US) / 1_000

/**
 * How far a log is moved, in us.
 * @param typicalUs a time of the log, such as the median of its first entries' times
 * @param policies undefined: they are not known beforehand
 * @throws {SimulateError} WEIR_NOT_SIMULATED
 */
export function moveOf(typicalUs: number, policies: readonly Policy[] | undefined): number {
  if (typicalUs >= FIRST_US + ROOM_US && typicalUs < LAST_US - ROOM_US) return 0
  const isInside = typicalUs >= FIRST_US && typicalUs < LAST_US
  const isOfCalendar = policies?.some((policy) => kernelOf(policy)?.periodAt !== undefined)
  const stepMs =
    policies === undefined || isOfCalendar ? Number.POSITIVE_INFINITY : stepOf(policies)
  if (stepMs > LONGEST_MS) {
    if (isInside) return 0
    const at = new Date(typicalUs / 1_000).toISOString()
    const why = isOfCalendar
      ? 'and a window of the calendar cannot be moved to another year'
      : 'and these policies allow no move to other years that keeps their windows where they are'
    const right = 'give windows that are multiples of each other, and no policy function'
    const what = `the log is of ${quote(at)}, outside of the years 2025 to 2045`
    throw misused('WEIR_NOT_SIMULATED', `${what}, ${why}; ${right}`)
  }
  const stepUs = stepMs * 1_000
  return Math.ceil((MIDDLE_US - typicalUs) / stepUs) * stepUs
}

/** The range of a log's times, in us, that kernels can store, however far the log is moved. */
export function keptRange(typicalUs: number): readonly [fromUs: number, toUs: number] {
  const isInside = typicalUs >= FIRST_US && typicalUs < LAST_US
  const isMoved = typicalUs < FIRST_US + ROOM_US || typicalUs >= LAST_US - ROOM_US
  // `moveOf` moves a log to between 2030 and 2035.
  const fromUs = isMoved ? typicalUs - 5 * YEAR_US : FIRST_US
  const toUs = isMoved ? typicalUs + 9 * YEAR_US : LAST_US
  return isInside ? [Math.max(fromUs, FIRST_US), Math.min(toUs, LAST_US)] : [fromUs, toUs]
}

function stepOf(policies: readonly Policy[]): number {
  let step = 1
  for (const ms of policies.flatMap(gridOf)) {
    step = (step / divisorOf(step, ms)) * ms
    if (step > LONGEST_MS) return Number.POSITIVE_INFINITY
  }
  return step
}

/** The greatest common divisor. */
function divisorOf(one: number, other: number): number {
  return other === 0 ? one : divisorOf(other, one % other)
}
