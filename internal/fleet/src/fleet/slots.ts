// What is known of the slots of a concurrency while a story runs: the work in progress, and how
// much of it Redis may not count.

import type { Policy } from '../../../../packages/core/src/algorithms/policy.js'
import type { Held } from '../../../../packages/core/src/index.js'
import { localQuotas, lossOfSlots, slotsInOutage } from '../promises/bounds.js'
import { isNameOf } from '../redis/names.js'
import type { StoryOptions } from './choices.js'
import type { Member } from './member.js'

/** Work in progress, and the counters in which it holds a slot. */
export interface Work {
  readonly member: Member
  readonly held: Held
  readonly counters: readonly SlotCounter[]
  /** Counters that were reset while it was requested, so they may or may not count it. */
  readonly perhaps: readonly SlotCounter[]
  /** Ends the work. */
  readonly end: () => void
}

/** The slots of a policy for a key. */
export class SlotCounter {
  readonly who: string
  readonly policy: Policy
  /** Whether Redis uses this name for the counter or its mark. */
  readonly isKey: (name: string) => boolean
  readonly #options: StoryOptions
  /** Work that no reset has freed. */
  readonly inProgress: Set<Work> = new Set()
  /** Work that Redis may count in addition. */
  readonly perhaps: Set<Work> = new Set()
  /** How often it was reset. */
  resets = 0
  /** The number of unanswered requests, by the rank of the process. */
  readonly #inFlight: Map<number, number> = new Map()
  /** For each process that has lost Redis, by rank: the most slots that Redis has since counted for
   *  it at once. */
  readonly #held: Map<number, number> = new Map()
  /** The ranks of processes that take themselves to be alone. */
  readonly #alone: Set<number> = new Set()
  /** The most that was in progress when Redis forgot its slots. */
  #atLoss = 0

  constructor(who: string, policy: Policy, options: StoryOptions) {
    this.who = who
    this.policy = policy
    this.isKey = isNameOf(who, policy.name)
    this.#options = options
  }

  asked({ rank }: Member): void {
    this.#inFlight.set(rank, (this.#inFlight.get(rank) ?? 0) + 1)
  }

  answered({ rank }: Member): void {
    this.#inFlight.set(rank, (this.#inFlight.get(rank) ?? 0) - 1)
  }

  began(work: Work): void {
    this.inProgress.add(work)
    const { member, held } = work
    const before = this.#held.get(member.rank)
    if (before !== undefined && held.source === 'store')
      this.#held.set(member.rank, Math.max(before, this.#ofRank(member.rank, 'store')))
  }

  /** Redis has reset it, and no longer counts the work in progress. */
  reset(): void {
    this.resets += 1
    this.inProgress.clear()
    this.perhaps.clear()
  }

  /** These processes lose Redis.
   *  @param isAlone whether a process has not counted the others */
  lose(some: readonly number[], isAlone: (rank: number) => boolean): void {
    for (const rank of some) {
      if (isAlone(rank)) this.#alone.add(rank)
      const held = this.#ofRank(rank) + (this.#inFlight.get(rank) ?? 0)
      this.#held.set(rank, Math.max(held, this.#held.get(rank) ?? 0))
    }
  }

  /** Redis forgets its slots, or its clock jumps. */
  forget(): void {
    const inFlight = [...this.#inFlight.values()].reduce((sum, each) => sum + each, 0)
    this.#atLoss = Math.max(this.#atLoss, this.inProgress.size + inFlight)
  }

  /** How much work may be in progress at once. */
  get most(): number {
    const { limit } = this.policy
    const held = [...this.#held.values()]
    const quotas = [...this.#held.keys()].map((rank) => this.#quotaOf(rank))
    return slotsInOutage(limit, held, quotas) + lossOfSlots(limit, this.#atLoss) - limit
  }

  #quotaOf(rank: number): number {
    const { processes, counted } = this.#options
    const { limit } = this.policy
    // A process that starts in an outage takes itself to be alone, unless it is told otherwise.
    if (rank >= processes || (counted && this.#alone.has(rank))) return limit
    const quotas = localQuotas(limit, processes)
    return (counted ? quotas[0] : quotas[rank]) as number
  }

  #ofRank(rank: number, source?: string): number {
    let sum = 0
    for (const { member, held } of this.inProgress)
      if (member.rank === rank && (source === undefined || held.source === source)) sum += 1
    return sum
  }
}

/** All slots of a story. */
export class HeldSlots {
  /** For each key, the slots that a request for it takes. */
  readonly ofKey: ReadonlyMap<string, readonly SlotCounter[]>
  readonly counters: readonly SlotCounter[]
  readonly #works: Set<Work> = new Set()

  constructor(
    options: StoryOptions,
    keys: readonly string[],
    uses: readonly { readonly policy: Policy; readonly key: string | undefined }[],
  ) {
    const of = (who: string, policy: Policy) => new SlotCounter(who, policy, options)
    const ofAll = uses.map(({ policy, key }) => (key === undefined ? key : of(key, policy)))
    this.ofKey = new Map(
      keys.map((who) => [who, uses.map(({ policy }, i) => ofAll[i] ?? of(who, policy))]),
    )
    this.counters = [...new Set([...this.ofKey.values()].flat())]
  }

  began(work: Work): void {
    this.#works.add(work)
    for (const counter of work.counters) counter.began(work)
    for (const counter of work.perhaps) counter.perhaps.add(work)
  }

  ended(work: Work): void {
    this.#works.delete(work)
    for (const counter of work.counters) counter.inProgress.delete(work)
    for (const counter of work.perhaps) counter.perhaps.delete(work)
  }

  lose(...lost: Parameters<SlotCounter['lose']>): void {
    for (const counter of this.counters) counter.lose(...lost)
  }

  forget(): void {
    for (const counter of this.counters) counter.forget()
  }

  /** Redis evicts a key. */
  evict(name: string): void {
    for (const counter of this.counters) if (counter.isKey(name)) counter.forget()
  }

  /** Redis resets the counter with this name. */
  reset(name: string): void {
    for (const counter of this.counters) if (counter.isKey(name)) counter.reset()
  }

  /** A process ends its work before it ends. */
  leave(member: Member): void {
    for (const work of [...this.#works]) if (work.member === member) work.end()
  }

  /** A process dies together with its work. */
  die(member: Member): void {
    for (const work of [...this.#works]) if (work.member === member) this.ended(work)
  }
}
