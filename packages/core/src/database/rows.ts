// A batch's rows: as they were read, and as the batch's decisions change them. A row is a counter's
// state, as its kernel writes it, or a mark. It holds only whole numbers, so that any database can
// keep it.

import type { Cells, Kernel, Scratch } from '../algorithms/algorithm.js'
import type { Mark, Marks, Table } from '../algorithms/driver.js'
import { quote, StoreError } from '../base/errors.js'
import { sha256 } from '../base/sha256.js'
import { countedKey, counterId } from '../request.js'
import type { Target } from '../store.js'

/** Longer keys are hashed. */
const LONGEST = 256
/** No other key ends like this: `rowKey` escapes the `#`. */
const MARK = '#mark'

// A mark is three numbers: two of `Mark`, and until when it matters, in ms. After a loss, the base
// and its time follow.
const FORGOTTEN = 0
const GAVE = 1
const UNTIL = 2
const MARK_WIDTH = 3
const BASE = 3
const BEGUN = 4
const MARK_WITH_BASE = 5

/**
 * The key of a policy's row: printable ASCII, as some databases take no NUL or no lone surrogate,
 * or compare texts by a language's rules.
 */
export function rowKey(target: Target, i: number): string {
  const { policySet } = target
  const policy = policySet.policies[i] as (typeof policySet.policies)[number]
  const who = countedKey(target, i)
  const text = asciiOf(who)
  const part = text.length > LONGEST ? `#${sha256(who)}` : text
  return `${asciiOf(counterId(policySet, policy))}:${part}`
}

export function markKey(key: string): string {
  return key + MARK
}

function asciiOf(text: string): string {
  return text.replace(/[^!-~]|[#%]/g, (unit) => {
    return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** A row that a batch changed. */
export interface RowChange {
  /** The row's key: one of the batch's `keys`. */
  readonly key: string
  /** What the row holds from now on: whole numbers of up to 2⁵³, which a double holds exactly.
   *  Undefined: delete the row. */
  readonly numbers: readonly number[] | undefined
  /** Until when the row matters, in whole ms since the Unix epoch by the database's clock. After
   *  that it may be deleted; if it is kept, it changes no decision. */
  readonly untilMs: number
}

interface Row {
  cells: Cells | undefined
  untilMs: number
  isChanged: boolean
}

export class Rows {
  readonly #stored: ReadonlyMap<string, readonly number[] | undefined>
  readonly #rows = new Map<string, Row & { readonly kernel: Kernel | undefined }>()

  constructor(stored: ReadonlyMap<string, readonly number[] | undefined>) {
    this.#stored = stored
  }

  /**
   * The row, with its changes so far. It stays as it was read unless it is written.
   * @param kernel the counter's kernel; undefined: the row is a mark
   * @throws {StoreError} WEIR_FOREIGN_KEY if it holds what that kernel does not write
   */
  of(key: string, kernel: Kernel | undefined): Row {
    let row = this.#rows.get(key)
    if (row === undefined) {
      const numbers = this.#stored.get(key)
      const cells = numbers === undefined ? undefined : checkedCells(key, numbers, kernel)
      row = { kernel, cells, untilMs: 0, isChanged: false }
      this.#rows.set(key, row)
    }
    return row
  }

  /** The changes to these rows, in the order of their keys. */
  changes(keys: readonly string[]): RowChange[] {
    const changes: RowChange[] = []
    for (const key of keys) {
      const row = this.#rows.get(key)
      if (!row?.isChanged) continue
      const { cells, kernel, untilMs } = row
      if (cells === undefined && this.#stored.get(key) === undefined) continue
      const numbers = cells && Array.from(cells.subarray(0, sizeOf(kernel, cells)))
      changes.push({ key, numbers, untilMs })
    }
    return changes
  }
}

function write(row: Row, cells: Cells | undefined, untilMs: number): void {
  row.cells = cells
  row.untilMs = untilMs
  row.isChanged = true
}

function sizeOf(kernel: Kernel | undefined, cells: Cells): number {
  if (kernel === undefined) return cells.length === MARK_WITH_BASE ? MARK_WITH_BASE : MARK_WIDTH
  return kernel.sizeOf?.(cells) ?? kernel.width
}

function checkedCells(key: string, numbers: unknown, kernel: Kernel | undefined): Cells {
  if (Array.isArray(numbers) && numbers.every(Number.isSafeInteger)) {
    const cells = Float64Array.from(numbers)
    if (sizeOf(kernel, cells) === cells.length) return cells
  }
  throw new StoreError(
    'WEIR_FOREIGN_KEY',
    `the row ${quote(key)} holds ${quote(numbers)}, which Weir did not write and does not change`,
  )
}

/** The rows of one policy's counters, as the driver asks for them. */
export class RowTable implements Table {
  readonly marks: Marks
  readonly #rows: Rows
  readonly #kernel: Kernel

  constructor(rows: Rows, kernel: Kernel) {
    this.#rows = rows
    this.#kernel = kernel
    this.marks = {
      of: (key) => markIn(rows.of(markKey(key), undefined).cells),
      set(key, mark, nowMs, lifeMs) {
        const row = rows.of(markKey(key), undefined)
        const known = markIn(row.cells)
        const untilMs = Math.max(Math.ceil(nowMs + lifeMs), row.cells?.[UNTIL] ?? 0)
        const hasBase = mark.base !== undefined
        const cells = new Float64Array(hasBase ? MARK_WITH_BASE : MARK_WIDTH)
        cells[FORGOTTEN] = Math.max(known.forgottenUs, mark.forgottenUs)
        // As in Redis, where the clock has stepped back, the refund made last counts, not the one
        // with the latest time.
        cells[GAVE] = mark.gaveUs === 0 ? known.gaveUs : mark.gaveUs
        cells[UNTIL] = untilMs
        if (hasBase) cells.set([mark.base ?? 0, mark.begunUs ?? 0], BASE)
        write(row, cells, untilMs)
      },
    }
  }

  read(scratch: Scratch, key: string, nowUs: number): number {
    const { cells } = this.#rows.of(key, this.#kernel)
    this.#kernel.read(scratch, cells, 0, nowUs)
    return cells === undefined ? -1 : 0
  }

  write(scratch: Scratch, key: string, _slot: number, nowMs: number, resetMs: number): void {
    const row = this.#rows.of(key, this.#kernel)
    const cells = row.cells ?? new Float64Array(this.#kernel.width)
    write(row, this.#kernel.write(scratch, cells, 0), nowMs + resetMs)
  }

  remove(key: string): void {
    write(this.#rows.of(key, this.#kernel), undefined, 0)
  }
}

function markIn(cells: Cells | undefined): Mark {
  return {
    forgottenUs: cells?.[FORGOTTEN] ?? 0,
    gaveUs: cells?.[GAVE] ?? 0,
    base: cells?.[BASE],
    begunUs: cells?.[BEGUN],
  }
}
