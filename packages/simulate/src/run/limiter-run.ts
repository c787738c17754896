// One limiter in one run: a RateLimiter on a memory store that goes by the log's clock.

import {
  type Cost,
  type Decision,
  type MemoryStore,
  memoryStore,
  type Policy,
  type PolicyInput,
  type PolicyUse,
  RateLimiter,
  unlimited,
} from '@weir/core'
import { kernelOf, quote } from '@weir/core/internal'
import type { PolicyResult } from '@weir/core/store'
import { failed, misuse, misused } from '../errors.js'
import { checkSimulated, type Limiter } from '../limiters.js'
import type { RunReport } from '../report.js'
import { AffectedKeys } from './affected.js'
import { callUser } from './call-user.js'
import type { Counts, KeyTable } from './key-table.js'
import { PolicyRun } from './policy-run.js'
import { Series } from './series.js'
import { shareOfKeys, shareOfRequests } from './shares.js'

export interface RunOptions {
  readonly limiter: Limiter
  readonly times: RunReport['times']
  /** All runs of the limiter share them. */
  readonly keys: KeyTable
  /** Requests of each key: they are the same in all runs. */
  readonly requests: Counts
  readonly maxKeys: number
  /** One in this many keys is in the sample. */
  readonly sample: number
  /** By how much the log is moved, in us. */
  readonly moveUs: number
}

export class LimiterRun {
  readonly times: RunReport['times']
  readonly affected: AffectedKeys = new AffectedKeys()
  refused = 0
  readonly #series: Series = new Series()
  readonly #options: RunOptions
  readonly #store: MemoryStore
  readonly #limiter: RateLimiter
  readonly #choose: ((key: string) => PolicyInput) | undefined
  readonly #policies: Map<string, PolicyRun> = new Map()
  /** The policies of the last decision, which the next one mostly has as well. */
  #recent: PolicyRun[] = []
  /** The policies as they were given, or as the policy function chose them last. */
  #uses: readonly PolicyUse[]
  #storeUs = 0

  /** @throws {TypeError | RangeError} what `RateLimiter` throws */
  constructor(options: RunOptions) {
    const { limiter, maxKeys } = options
    const { name, policy, reserve, uses } = limiter
    this.times = options.times
    this.#options = options
    this.#uses = limiting(uses ?? [])
    this.#storeUs = FIRST_US
    this.#store = memoryStore({ clock: { nowUs: () => this.#storeUs }, maxKeys })
    this.#choose = typeof policy === 'function' ? policy : undefined
    const fixed = typeof policy === 'function' ? unlimited() : policy
    this.#limiter = new RateLimiter({
      name,
      store: this.#store,
      policy: fixed,
      reserve,
      shared: true,
    })
  }

  /** Asks the policy function here: if it threw, the limiter would go on with an earlier answer. */
  #chosen(choose: (key: string) => PolicyInput, key: string): PolicyInput {
    const whose = `the policy function of limiter "${this.#limiter.name}"`
    const input = callUser(whose, () => choose(key))
    if (typeof (input as { then?: unknown } | undefined)?.then === 'function') {
      const what = `${whose} answers with a promise`
      throw misused('WEIR_NOT_SIMULATED', `${what}; in a simulation it must answer at once`)
    }
    const given = (Array.isArray(input) ? input : [input]) as readonly (Policy | PolicyUse)[]
    if (given.some((one) => typeof one !== 'object' || one === null)) {
      const right = 'a policy, or a list of policies'
      throw misuse(`what ${whose} chose`, input, right, 'WEIR_POLICIES_FAILED')
    }
    this.#uses = limiting(given.map((one) => ('policy' in one ? one : { policy: one })))
    for (const { policy } of this.#uses) checkSimulated(policy, `limiter "${this.#limiter.name}"`)
    return input
  }

  /**
   * Decides on a request.
   * @param timeUs the log's time
   * @throws {SimulateError} WEIR_NOT_SIMULATED, WEIR_TOO_MANY_KEYS
   * @throws {TypeError | RangeError} what `decide` throws
   */
  decide(timeUs: number, key: number, cost: Cost, priority: string | undefined): Decision {
    const before = this.#storeUs
    this.#storeUs = timeUs + this.#options.moveUs
    if (this.#storeUs < before) for (const run of this.#policies.values()) run.wentBack()
    const text = this.#options.keys.texts[key] as string
    const policy = this.#choose === undefined ? undefined : this.#chosen(this.#choose, text)
    const isPlain = cost === 1 && priority === undefined && policy === undefined
    const options = isPlain ? undefined : { cost, priority, policy }
    // A memory store answers at once.
    const decision = this.#limiter.decide(text, options) as Decision
    const { allowed, policies, retryAfterMs } = decision
    this.#series.add(timeUs, !allowed)
    if (allowed) {
      this.affected.pass(key, timeUs)
      for (let i = 0; i < policies.length; i += 1) {
        const result = policies[i] as PolicyResult
        if (result.limit === Number.POSITIVE_INFINITY) continue
        const run = this.#runOf(result.policy, i)
        run.pass(this.#keyOf(run, i, key), result.cost, this.#storeUs)
      }
      return decision
    }
    this.refused += 1
    this.affected.refuse(key, timeUs, retryAfterMs)
    this.#refuse(decision)
    return decision
  }

  #refuse({ policy, policies }: Decision): void {
    const place = policies.findIndex((one) => one.policy === policy)
    if (place < 0) return
    const run = this.#runOf(policy, place)
    run.refusals += 1
    run.refusedUnits += (policies[place] as PolicyResult).cost
  }

  #runOf(policy: Policy, place: number): PolicyRun {
    const recent = this.#recent[place]
    if (recent?.policy === policy) return recent
    let run = this.#policies.get(policy.name)
    if (run === undefined) {
      run = new PolicyRun(policy, this.#options.maxKeys)
      this.#policies.set(policy.name, run)
    }
    this.#recent[place] = run
    return run
  }

  /** The number of the key that a policy limits: the request's, unless the policy has its own. */
  #keyOf(run: PolicyRun, place: number, key: number): number {
    const own = this.#uses[place]?.key
    if (own === undefined) return key
    if (this.#options.sample > 1) {
      const what = `policy ${quote(run.policy.name)} counts the requests of other keys together`
      throw misused(
        'WEIR_NOT_SIMULATED',
        `${what}, and a sample has only some of them; leave out --sample`,
      )
    }
    return run.ownKeys.numberOf(String(own))
  }

  /** @throws {SimulateError} WEIR_TOO_MANY_KEYS */
  report(): RunReport {
    const { keys, requests, sample, moveUs } = this.#options
    const evictions = this.#store.stats().memory?.evictions ?? 0
    if (evictions > 0) {
      const what = `the store forgot ${evictions} keys that still counted`
      throw failed('WEIR_TOO_MANY_KEYS', `${what}; raise --max-keys (maxKeys)`)
    }
    const { refused, affected } = this
    const counts = { refused: affected.refused, requests }
    const textOf = (key: number): string => keys.texts[key] as string
    return {
      times: this.times,
      refused,
      refusedShare: shareOfRequests(counts, keys.count, sample),
      affected: affected.count,
      affectedShare: shareOfKeys(affected.count, keys.count, sample),
      mostAffected: affected.most(TOP, keys.texts, requests),
      policies: [...this.#policies.values()].map((run) => run.report(refused, textOf, moveUs)),
      steps: this.#series.steps,
    }
  }

  close(): void {
    this.#store.close()
  }
}

/** The clock until the first entry: any time that a store accepts. */
const FIRST_US = Date.UTC(2030, 0, 1) * 1_000
const TOP = 10

function limiting(uses: readonly PolicyUse[]): readonly PolicyUse[] {
  return uses.filter(({ policy }) => policy && kernelOf(policy) !== undefined)
}
