// A kernel that settles by itself: units are held for a time, and a settlement turns them into
// units that are spent. It shows that such an algorithm needs no mode, driver or receipt of its
// own.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
// @ts-expect-error: a tool, in JavaScript
import { kernelLuaOf } from '../../../../../tools/kernel-lua.mjs'
import { COUNTED, type Kernel } from '../../../src/algorithms/algorithm.js'
import * as modes from '../../../src/algorithms/modes.js'
import { makePolicy, type Policy } from '../../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../../src/base/clock.js'

const FORGET_US = 3_600_000_000
const START_US = EPOCH_MS * 1_000

type Trial = ReturnType<typeof prepare>

function prepare([limit, holdMs]: readonly [limit: number, holdMs: number]) {
  const holds: { readonly at: number; units: number }[] = []
  return { limit, holdUs: holdMs * 1_000, now: 0, spent: 0, holds, dirty: false }
}

function used({ spent, holds }: Trial): number {
  return holds.reduce((sum, { units }) => sum + units, spent)
}

function spend(scratch: Trial, units: number): void {
  scratch.spent += units
  scratch.dirty = true
}

/** Cells: [spent, holds, at, units, at, units, ...]. */
const kernel: Kernel = {
  id: 'trial1',
  lua: kernelLuaOf(readFileSync(join(import.meta.dirname, 'kernel.lua'), 'utf8'), modes),
  traits: { ...COUNTED, isLeased: false },
  width: 0,
  prepare,
  sizeOf: ([, holds = 0]) => 2 + 2 * holds,
  read(scratch, cells, _offset, nowUs) {
    const [spent = 0, count = 0, ...rest] = cells ?? []
    scratch.now = nowUs - START_US
    scratch.spent = spent
    scratch.holds = Array.from({ length: count }, (_, i) => ({
      at: rest[2 * i] as number,
      units: rest[2 * i + 1] as number,
    })).filter(({ at }) => at + scratch.holdUs > scratch.now)
    scratch.dirty = false
  },
  used,
  take(scratch, units) {
    scratch.holds.push({ at: scratch.now, units })
    scratch.dirty = true
  },
  refund: (scratch, units) => spend(scratch, -Math.min(units, scratch.spent)),
  settle(scratch, charged, actual, _untilUs, chargedUs) {
    const hold = scratch.holds.find(({ at }) => at === chargedUs - START_US)
    if (hold !== undefined) hold.units -= charged
    scratch.holds = scratch.holds.filter(({ units }) => units > 0)
    spend(scratch, actual)
  },
  reconcile: spend,
  restore(scratch, seen, _untilUs, base) {
    const known = base ?? used(scratch)
    if (seen > known) spend(scratch, seen - known)
    return Math.max(known, seen)
  },
  retryAfterMs(scratch, cost) {
    let room = scratch.limit - used(scratch)
    for (const { at, units } of scratch.holds) {
      room += units
      if (room >= cost) return Math.ceil((at + scratch.holdUs - scratch.now) / 1_000)
    }
    return -1
  },
  resetAfterUs({ spent, holds, holdUs, now }) {
    if (spent > 0) return FORGET_US
    return holds.length > 0 ? (holds.at(-1)?.at as number) + holdUs - now : 0
  },
  write: ({ spent, holds }) =>
    Float64Array.from([spent, holds.length, ...holds.flatMap(({ at, units }) => [at, units])]),
} satisfies Kernel<Trial>

/** A total of `limit`, of which an estimate is held for `holdMs`. */
export function trial(name: string, limit: number, holdMs: number): Policy {
  return makePolicy({
    name,
    algorithm: 'fixed-window',
    limit,
    windowMs: holdMs,
    timeScale: 'ever',
    unitMs: 0,
    maxWaitMs: 0,
    kernel,
    numbers: [limit, holdMs],
  })
}
