// What was last seen of each target in the store, and what a result shows to have been lost since.
// Targets of all policy sets with the same number of policies share a table without objects: every
// result passes here, and keeping the results themselves would cost more in garbage collection than
// all the rest of a decision.
//
// Targets are told apart by 64 bits of a hash with a secret seed. The chance that any two of
// 100,000 share them is 1 in 4 billion (100,000² / 2⁶⁵); these two would be taken for one.

import { traitsOf } from '../../algorithms/modes.js'
import { memoized } from '../../base/cache.js'
import { keyHash } from '../../base/key-hash.js'
import { idOf } from '../../base/key-text.js'
import type { LayerRequest } from '../../layer.js'
import { States } from '../../memory/states.js'
import type { PolicyResult, PolicySet, StoreResult, Target } from '../../store.js'
import { type Loss, lossOf } from './canary.js'
import type { SeenBlocksOf } from './seen-blocks.js'

type Mode = LayerRequest['mode']

/** How many entries are examined for each new one, and dropped if they have expired. */
const SWEPT = 2
/** How many are examined when one must make room. */
const CANDIDATES = 4

/** A smaller difference shows no loss: clocks, and the delays of replies, differ by as much. */
const LOSS_MARGIN_US = 50_000

export interface Seen {
  readonly nowUs: number
  readonly remaining: readonly number[]
  readonly untilUs: readonly number[]
  /** The last blocks of lock-outs, as far as their levels still matter. */
  readonly blocks?: SeenBlocksOf | undefined
}

/** What was last seen of targets that have the same number of policies. */
export class LastSeen {
  readonly #policies: number
  readonly #maxKeys: number
  /** For each target: when it was seen, and then for each policy what remained and until when the
   *  units in use count. */
  readonly #states: States
  /** Tells a policy set's targets from those of other sets. */
  readonly #saltOf: (policySet: PolicySet) => number = memoized((policySet) => {
    keyHash.hash(textOfSet(policySet))
    // The golden ratio's bits spread the salts.
    return Math.imul(keyHash.low, 0x9e3779b1)
  })
  /** The last text that was hashed: equal requests are often answered in a row. */
  #id = ''
  #low = 0
  #high = 0

  /** @param maxKeys the most targets that it remembers */
  constructor(policies: number, maxKeys: number) {
    this.#policies = policies
    this.#maxKeys = maxKeys
    this.#states = new States({ width: 1 + 2 * policies, keepsTexts: false, maxKeys })
  }

  get(target: Target): Seen | undefined {
    return this.#find(target) ? this.#seen() : undefined
  }

  /** Remembers a result. Returns what was seen before if the result, or what its node has lost,
   *  shows that the store has lost it. */
  note(
    target: Target,
    result: StoreResult,
    mode: Mode,
    losses?: readonly Loss[],
  ): Seen | undefined {
    const { nowUs } = result
    const isThere = this.#find(target)
    const beforeUs = isThere ? this.#number(0) : 0
    // The reply to a reconciliation takes a longer way than answers to requests, so one that was
    // sent later may have overtaken it.
    if (isThere && mode === 'reconcile' && beforeUs > nowUs) return undefined
    // After the clock has stepped back, what was seen says nothing about now.
    const known = isThere && beforeUs <= nowUs + LOSS_MARGIN_US
    const { takes, gives, correction } = traitsOf(mode)
    const taken = takes || correction === 'reconcile'
    const isLoss =
      known &&
      (lossOf(losses, beforeUs) !== undefined ||
        (taken && result.granted > 0 && this.#shows(isLostBy, result, mode)))
    const lost = isLoss ? this.#seen() : undefined
    // After a denial, refund or reconciliation, less may be in use because units were lost or
    // because their time has passed; and a denial of a class only says how much is left at most. So
    // what was seen stays, even if the clock has stepped back since.
    const isVague = mode === 'reconcile' || gives || result.granted === 0
    if (isThere && isVague && this.#shows(isLess, result, mode)) return lost
    if (!isThere) this.#add(target, nowUs)
    this.#write(result)
    return lost
  }

  forget(target: Target): void {
    if (this.#find(target)) this.#states.remove(this.#states.slot)
  }

  /** Selects a target's entry. Returns whether there is one. */
  #find(target: Target): boolean {
    const id = idOf(target)
    if (id !== this.#id) {
      keyHash.hash(id)
      this.#id = id
      this.#low = keyHash.low
      this.#high = keyHash.high
    }
    return this.#states.findOwner(this.#high, this.#low ^ this.#saltOf(target.policySet)) >= 0
  }

  #add(target: Target, nowUs: number): void {
    const states = this.#states
    for (let step = 0; step < SWEPT && states.count > 0; step += 1) {
      const slot = states.walk()
      if (slot >= 0 && this.#isOver(slot, nowUs)) states.remove(slot)
    }
    if (states.count >= this.#maxKeys) states.remove(this.#findVictim(nowUs))
    states.addOwner(this.#high, this.#low ^ this.#saltOf(target.policySet))
  }

  /** The oldest of some entries, and an exhausted one only if all are: otherwise, a client could
   *  use up a limit, make up keys, and have its own entry forgotten. */
  #findVictim(nowUs: number): number {
    let victim = -1
    let victimUs = Number.POSITIVE_INFINITY
    let isExhausted = true
    for (let step = 0; step < CANDIDATES || victim < 0; step += 1) {
      const slot = this.#states.walk()
      if (slot < 0) continue
      this.#states.select(slot)
      const stays = this.#isExhausted(nowUs)
      const seenUs = this.#number(0)
      if (stays === isExhausted ? seenUs >= victimUs : stays) continue
      victim = slot
      victimUs = seenUs
      isExhausted = stays
    }
    return victim
  }

  /** A number of the selected entry, from 0: when it was seen, then what remained and until when,
   *  policy by policy. */
  #number(i: number): number {
    return this.#states.cells[this.#states.offset + i] as number
  }

  #write({ nowUs, policies, untilUs }: StoreResult): void {
    const { cells, offset } = this.#states
    cells[offset] = nowUs
    for (let i = 0; i < this.#policies; i += 1) {
      cells[offset + 1 + 2 * i] = policies[i]?.remaining as number
      cells[offset + 2 + 2 * i] = untilUs[i] as number
    }
  }

  #isOver(slot: number, nowUs: number): boolean {
    this.#states.select(slot)
    for (let i = 0; i < this.#policies; i += 1) if (this.#number(2 + 2 * i) > nowUs) return false
    return true
  }

  #isExhausted(nowUs: number): boolean {
    for (let i = 0; i < this.#policies; i += 1)
      if (this.#number(1 + 2 * i) === 0 && this.#number(2 + 2 * i) > nowUs) return true
    return false
  }

  /** Whether a sign shows in a policy that had units in use which should still count. */
  #shows(sign: Sign, result: StoreResult, mode: Mode): boolean {
    for (let i = 0; i < this.#policies; i += 1) {
      const now = result.policies[i] as PolicyResult
      const remained = this.#number(1 + 2 * i)
      const untilUs = this.#number(2 + 2 * i)
      if (remained >= now.limit || untilUs <= result.nowUs + LOSS_MARGIN_US) continue
      const earlierUs = untilUs - LOSS_MARGIN_US - (result.untilUs[i] as number)
      if (sign(now, remained, earlierUs, mode, result.granted)) return true
    }
    return false
  }

  #seen(): Seen {
    const remaining: number[] = []
    const untilUs: number[] = []
    for (let i = 0; i < this.#policies; i += 1) {
      remaining.push(this.#number(1 + 2 * i))
      untilUs.push(this.#number(2 + 2 * i))
    }
    return { nowUs: this.#number(0), remaining, untilUs }
  }
}

/**
 * What a policy's result may show, compared with what was seen before.
 * @param earlierUs by how much the time at which all units will have expired is now earlier than
 * was seen, beyond the margin; 0 or less: not earlier
 */
type Sign = (
  now: PolicyResult,
  remained: number,
  earlierUs: number,
  mode: Mode,
  granted: number,
) => boolean

/**
 * The store lost the target: less is in use than is possible, because the units in use before
 * should have lasted longer. A window with one end shows it by the units that remain, a bucket by
 * the time at which all of them are back, and the others only if nothing is in use but what this
 * very request took. A refund by another process looks the same; its mark keeps a restore from
 * undoing it.
 */
const isLostBy: Sign = ({ cost, limit, remaining, policy }, remained, earlierUs, mode, granted) => {
  const traits = policy.kernel?.traits
  // A settlement takes units of some policies and gives back units of others. Slots are released
  // elsewhere, and their holders renew what was lost; estimates expire.
  if (cost < 0 || traits?.isHeld) return false
  // A kernel that settles by itself takes what it finds right.
  if (traitsOf(mode).settles && policy.kernel?.settle !== undefined) return false
  if (traits?.drains) return earlierUs > 0
  // A request that leaves nothing and was not judged may exceed the limit by an unknown amount.
  if (!traitsOf(mode).judges && remaining === 0) return false
  // Reconciled units may no longer count.
  const took = mode === 'reconcile' ? 0 : granted * cost
  // A request that takes nothing of this policy can show that nothing of it is in use.
  if ((took > 0 || cost === 0) && limit - remaining === took) return true
  return traits?.hasOneEnd === true && remaining > remained - took
}

/** Less is in use than was seen, by more than the units that this request gave back. */
const isLess: Sign = ({ cost, remaining, policy }, remained, earlierUs, mode, granted) => {
  // A settlement that takes units only raises what is in use, so treating it as a refund is safe.
  const back = traitsOf(mode).gives ? granted * Math.abs(cost) : 0
  if (policy.kernel?.traits.drains) return earlierUs > back * policy.unitMs * 1_000
  return remaining > remained + back
}

/** Equal sets have the same text, whenever they were made. */
function textOfSet({ name, policies }: PolicySet): string {
  return JSON.stringify([name, ...policies.map(({ signature }) => signature)])
}
