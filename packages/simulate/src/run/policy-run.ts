// What is counted of one policy in one run.

import type { Policy } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import type { Bound } from '@weir/core/testing'
import type { MostReport, PolicyReport } from '../report.js'
import { boundOf, unitOf } from './algorithms.js'
import { KeyTable } from './key-table.js'
import { MostInPeriod, MostInWindow } from './most-in-window.js'

export class PolicyRun {
  readonly policy: Policy
  units = 0
  refusedUnits = 0
  refusals = 0
  /** Policy keys, if the policy has them. */
  readonly ownKeys: KeyTable
  readonly #bound: Bound
  readonly #measure: MostInWindow | MostInPeriod | undefined
  /** The unit in which times are measured, in us. */
  readonly #unitUs: number

  constructor(policy: Policy, maxKeys: number) {
    this.policy = policy
    this.ownKeys = new KeyTable(maxKeys, `policy "${policy.name}"`)
    this.#bound = boundOf(policy)
    this.#unitUs = unitOf(policy) === 'us' ? 1 : 1_000
    this.#measure = this.#measureOf(policy)
  }

  #measureOf(policy: Policy): MostInWindow | MostInPeriod | undefined {
    const { windowMs, units } = this.#bound
    if (units === Number.POSITIVE_INFINITY) return undefined
    const periodAt = kernelOf(policy)?.periodAt
    if (windowMs === undefined && periodAt !== undefined)
      return new MostInPeriod((atMs) => periodAt(atMs * 1_000).startMs)
    return new MostInWindow(((windowMs ?? 0) * 1_000) / this.#unitUs)
  }

  /** The log's clock has gone back. */
  wentBack(): void {
    this.#measure?.beginAnew()
  }

  /** @param key the number of the key that this policy limits */
  pass(key: number, units: number, storeUs: number): void {
    this.units += units
    this.#measure?.pass(key, units, Math.floor(storeUs / this.#unitUs))
  }

  /**
   * @param textOf returns the text of the key with a number
   * @param moveUs how much later the store's times are than the log's
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
