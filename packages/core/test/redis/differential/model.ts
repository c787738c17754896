// The TypeScript kernels, without any store: no sweep and no bound on keys, so a walk may go back
// in time as far as it likes.

import type { Cells, Kernel, Scratch } from '../../../src/algorithms/algorithm.js'
import {
  type Counter,
  decide,
  type Mark,
  type Marks,
  type Reading,
  type Table,
} from '../../../src/algorithms/driver.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import type { Mode } from '../../../src/algorithms/modes.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { kernels as described } from '../../../src/testing/algorithms.js'
import type { DrawnPolicy, KernelName } from './recipe.js'

/** Days of a zone that changes its clock. */
export const calendarDay = (name: string, limit: number): Policy =>
  fixedWindow({ name, limit, window: 'day', timeZone: 'America/Havana' })

export const kernels: Readonly<Record<KernelName, Kernel>> = {
  ...described,
  calendar: calendarDay('day', 1).kernel as Kernel,
}

/** One group, in the form that both drivers take. */
export interface Request {
  /** The version of the policies: same names, other numbers. */
  readonly version: number
  readonly mode: Mode
  readonly key: string
  readonly costs: readonly number[]
  readonly count: number
  readonly atLeast?: number | undefined
  readonly maxWaitMs?: number | undefined
  readonly aheadMs?: number | undefined
  readonly keep?: readonly number[] | undefined
  readonly charged?: readonly number[] | undefined
  readonly untilUs?: readonly number[] | undefined
  /** For refunds and settlements by receipt, when the decision was charged. */
  readonly seenUs?: number | undefined
  readonly lossUs?: number | undefined
}

export interface Reply {
  readonly granted: number
  readonly readings: readonly Reading[]
}

export class Model {
  /** All states that were written or removed so far, in order, by `stateOf`. */
  readonly writes: string[] = []
  readonly #counters: readonly (readonly Counter[])[]

  /** @param versions for each version, the policies; the n-th of all versions share their states */
  constructor(versions: readonly (readonly DrawnPolicy[])[]) {
    const tables =
      versions[0]?.map(({ kernel }, i) => {
        return new PlainTable(kernels[kernel] as Kernel, this.writes, i)
      }) ?? []
    this.#counters = versions.map((policies) =>
      policies.map(({ kernel, numbers }, i) => {
        const table = tables[i] as Table
        const known = kernels[kernel] as Kernel
        return { kernel: known, scratch: known.prepare(numbers), table, slot: -1 }
      }),
    )
  }

  decide(request: Request, nowUs: number): Reply {
    const counters = this.#counters[request.version] as readonly Counter[]
    const readings = counters.map(() => ({ left: 0, waitMs: 0, resetUs: 0 }))
    const keys = counters.map(() => request.key)
    const granted = decide(counters, keys, request, nowUs, readings)
    // What was used before travels only where crossings are told: see crossings.test.ts.
    const told = readings.map(({ left, waitMs, resetUs }) => ({ left, waitMs, resetUs }))
    return { granted, readings: told }
  }
}

/** A name for the state that one policy, by its position, has of a key. */
export function stateOf(key: string, place: number): string {
  return `${key}/${place}`
}

class PlainTable implements Table {
  readonly marks: Marks
  readonly #slots: Map<string, number> = new Map()
  readonly #cells: Cells[] = []
  readonly #kernel: Kernel
  readonly #writes: string[]
  readonly #place: number

  constructor(kernel: Kernel, writes: string[], place: number) {
    const marks = new Map<string, Mark>()
    this.marks = {
      of: (key) => marks.get(key) ?? { forgottenUs: 0, gaveUs: 0 },
      set(key, { forgottenUs, gaveUs, base, begunUs }) {
        const known = this.of(key)
        marks.set(key, {
          base,
          begunUs,
          forgottenUs: Math.max(known.forgottenUs, forgottenUs),
          gaveUs: gaveUs === 0 ? known.gaveUs : gaveUs,
        })
      },
    }
    this.#kernel = kernel
    this.#writes = writes
    this.#place = place
  }

  read(scratch: Scratch, key: string, nowUs: number): number {
    const slot = this.#slots.get(key) ?? -1
    this.#kernel.read(scratch, this.#cells[slot], 0, nowUs)
    return slot
  }

  write(scratch: Scratch, key: string, slot: number): void {
    this.#writes.push(stateOf(key, this.#place))
    const place = slot >= 0 ? slot : this.#cells.length
    this.#slots.set(key, place)
    const cells = this.#cells[place] ?? new Float64Array(this.#kernel.width)
    this.#cells[place] = this.#kernel.write(scratch, cells, 0)
  }

  remove(key: string): void {
    this.#writes.push(stateOf(key, this.#place))
    this.#slots.delete(key)
  }
}
