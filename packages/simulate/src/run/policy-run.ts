// What is counted of one policy in one run.

import type { Policy } from '@weir/core'
import type { MostReport, PolicyReport } from '../report.js'
import { type Bound, boundOf, unitOf } from './algorithms.js'
import { KeyTable } from './key-table.js'
import { MostInPeriod, MostInWindow } from './most-in-window.js'

export class PolicyRun {
  readonly policy: Policy
  units = 0
  refusedUnits = 0
  refusals = 0
  /** Of a policy that has keys of its own. */
  readonly ownKeys: KeyTable
  readonly #bound: Bound
  readonly #measure: MostInWindow | MostInPeriod | undefined
  /** Times are measured in whole parts of so many us. */
  readonly #unitUs: number

  constructor(policy: Policy, maxKeys: number) {
    this.policy = policy
    this.ownKeys = new KeyTable(maxKeys, `policy "${policy.name}"`)
    this.#bound = boundOf(policy)
    this.#unitUs = unitOf(policy) === 'us' ? 1 : 1_000
    this.#measure = this.#measureOf(policy)
  }

  #measureOf({ kernel }: Policy): MostInWindow | MostInPeriod | undefined {
    const { windowMs, units } = this.#bound
    if (units === Number.POSITIVE_INFINITY) return undefined
    const periodAt = kernel?.periodAt
    if (windowMs === undefined && periodAt !== undefined)
      return new MostInPeriod((atMs) => periodAt(atMs * 1_000).startMs)
    return new MostInWindow(((windowMs ?? 0) * 1_000) / this.#unitUs)
  }

  /** The clock of the log has gone back. */
  wentBack(): void {
    this.#measure?.beginAnew()
  }

  /** @param key the number of who is limited by this policy */
  pass(key: number, units: number, storeUs: number): void {
    this.units += units
    this.#measure?.pass(key, units, Math.floor(storeUs / this.#unitUs))
  }

  /**
   * @param textOf of a key's number
   * @param moveUs by how much the times of the store are later than those of the log
   */
  report(refusals: number, textOf: (key: number) => string, moveUs: number): PolicyReport {
    const { name, algorithm, limit } = this.policy
    return {
      policy: name,
      algorithm,
      limit,
      units: this.units,
      refusedUnits: this.refusedUnits,
      refusals: this.refusals,
      shareOfRefusals: refusals === 0 ? 0 : this.refusals / refusals,
      mostInWindow: this.#mostOf(textOf, moveUs),
    }
  }

  #mostOf(textOf: (key: number) => string, moveUs: number): MostReport | undefined {
    const { most, leftOut = 0 } = this.#measure ?? {}
    if (most === undefined) return undefined
    const { units: bound, says, windowMs } = this.#bound
    const atUs = most.at * this.#unitUs - moveUs
    const key = this.ownKeys.count > 0 ? (this.ownKeys.texts[most.key] as string) : textOf(most.key)
    return { units: most.units, key, atUs, windowMs, bound, says, keysLeftOut: leftOut }
  }
}
