// Kernels keep times from 2025 to 2045. A log from elsewhere is moved there, as a whole, by a time
// that changes no decision: a multiple of all windows that lie on a grid.

import type { Policy } from '@weir/core'
import { quote } from '@weir/core/http'
import { misused } from '../errors.js'
import { gridOf } from './algorithms.js'

const FIRST_US = Date.UTC(2025, 0, 1) * 1_000
const LAST_US = Date.UTC(2045, 0, 1) * 1_000
/** So far from the ends there is room for what is out of order, and for states that outlive it. */
const ROOM_US = 30 * 86_400_000_000
const MIDDLE_US = Date.UTC(2030, 0, 1) * 1_000
const YEAR_US = 365 * 86_400_000_000
const LONGEST_MS = (5 * YEAR_US) / 1_000

/**
 * By how many us a log is moved.
 * @param typicalUs a time of it, such as the median of its first ones
 * @param policies undefined: they are not known beforehand
 * @throws {SimulateError} WEIR_NOT_SIMULATED
 */
export function moveOf(typicalUs: number, policies: readonly Policy[] | undefined): number {
  if (typicalUs >= FIRST_US + ROOM_US && typicalUs < LAST_US - ROOM_US) return 0
  const isInside = typicalUs >= FIRST_US && typicalUs < LAST_US
  const isOfCalendar = policies?.some(({ kernel }) => kernel?.periodAt !== undefined)
  const stepMs =
    policies === undefined || isOfCalendar ? Number.POSITIVE_INFINITY : stepOf(policies)
  if (stepMs > LONGEST_MS) {
    if (isInside) return 0
    const at = new Date(typicalUs / 1_000).toISOString()
    const why = isOfCalendar
      ? 'and a window of the calendar cannot be moved to another year'
      : 'and these policies allow no move to other years that keeps their windows where they are'
    const right = 'give windows of which one is a multiple of the other, and no function as policy'
    const what = `the log is of ${quote(at)}, outside of the years 2025 to 2045`
    throw misused('WEIR_NOT_SIMULATED', `${what}, ${why}; ${right}`)
  }
  const stepUs = stepMs * 1_000
  return Math.ceil((MIDDLE_US - typicalUs) / stepUs) * stepUs
}

/** Between which times, in us, kernels keep those of a log, whatever it is moved by. */
export function keptRange(typicalUs: number): readonly [fromUs: number, toUs: number] {
  const isInside = typicalUs >= FIRST_US && typicalUs < LAST_US
  const isMoved = typicalUs < FIRST_US + ROOM_US || typicalUs >= LAST_US - ROOM_US
  // It is moved to between 2030 and 2035.
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

/** The greatest that both have. */
function divisorOf(one: number, other: number): number {
  return other === 0 ? one : divisorOf(other, one % other)
}
