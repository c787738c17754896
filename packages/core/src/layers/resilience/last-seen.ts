// What was last seen of the targets of all policy sets with as many policies, in a table of fixed
// size without objects: every result passes here, and remembering the results themselves would cost
// more in garbage collection than all the rest of a decision.
//
// Targets are told apart by 53 bits of a hash with a secret seed. That any two of a full table
// share them has a chance of 1 in 70 million (16,384² / 2⁵⁴); they would be seen as one.

import { memoized } from '../../base/cache.js'
import { keyHash } from '../../base/key-hash.js'
import { idOf } from '../../base/key-text.js'
import type { PolicyResult, PolicySet, StoreResult, Target } from '../../store.js'
import type { LayerRequest } from '../layer.js'

type Mode = LayerRequest['mode']

/** A power of two. */
const SETS = 8_192
const WAYS = 2
/**
 * Of a way: hash, when, and then for each policy what remained and until when what was used counts.
 */
const HEADER = 2

/** Clocks and replies differ by less than this; younger evidence of a lost key is not trusted. */
const LOSS_MARGIN_US = 50_000

export interface Seen {
  readonly nowUs: number
  readonly remaining: readonly number[]
  readonly untilUs: readonly number[]
}

export class LastSeen {
  readonly #policies: number
  readonly #width: number
  readonly #cells: Float64Array
  /** Tells the targets of a set from those of others. */
  readonly #saltOf: (policySet: PolicySet) => number = memoized((policySet) => {
    keyHash.hash(textOfSet(policySet))
    return keyHash.low
  })
  /** The last text that was hashed: equal requests are answered one after the other. */
  #id = ''
  #salt = 0
  #hash = 0
  /** Where the set of #hash begins. */
  #set = 0

  constructor(policies: number) {
    this.#policies = policies
    this.#width = HEADER + 2 * policies
    this.#cells = new Float64Array(SETS * WAYS * this.#width)
  }

  get(target: Target): Seen | undefined {
    const hash = this.#hashOf(target)
    const at = this.#find(hash)
    return this.#cells[at] === hash ? this.#seenAt(at) : undefined
  }

  /** Remembers a result. Returns what was seen before it if the result shows that the store lost it
   *  since. */
  note(target: Target, result: StoreResult, mode: Mode): Seen | undefined {
    const cells = this.#cells
    const hash = this.#hashOf(target)
    const at = this.#find(hash, result.nowUs)
    const isThere = cells[at] === hash
    // It comes by a longer way than the answers to requests, and one that was sent after it may
    // have overtaken it.
    if (isThere && mode === 'reconcile' && (cells[at + 1] as number) > result.nowUs)
      return undefined
    // Where the clock has stepped back, what was seen says nothing of now.
    const known = isThere && (cells[at + 1] as number) <= result.nowUs + LOSS_MARGIN_US
    const taken = mode === 'consume' || mode === 'penalty' || mode === 'reconcile'
    const isLoss = taken && result.granted > 0 && known && this.#shows(isLost, at, result, mode)
    const lost = isLoss ? this.#seenAt(at) : undefined
    // What is in use after a denial, refund or reconciliation does not tell whether less is used
    // because it was lost or has passed.
    const isVague = mode === 'reconcile' || isGiven(mode) || result.granted === 0
    if (known && isVague && this.#shows(isLess, at, result, mode)) return lost
    cells[at] = hash
    cells[at + 1] = result.nowUs
    for (let i = 0; i < this.#policies; i += 1) {
      cells[at + HEADER + 2 * i] = result.policies[i]?.remaining as number
      cells[at + HEADER + 2 * i + 1] = result.untilUs[i] as number
    }
    return lost
  }

  forget(target: Target): void {
    const hash = this.#hashOf(target)
    const at = this.#find(hash)
    if (this.#cells[at] === hash) this.#cells[at] = 0
  }

  #hashOf(target: Target): number {
    const id = idOf(target)
    const salt = this.#saltOf(target.policySet)
    if (id !== this.#id || salt !== this.#salt) {
      this.#id = id
      this.#salt = salt
      keyHash.hash(id)
      // 53 bits, never 0. The golden ratio's bits spread the salts.
      const low = (keyHash.low ^ Math.imul(salt, 0x9e3779b1)) >>> 0
      this.#hash = low * 2 ** 21 + (keyHash.high >>> 11) + 1
      this.#set = (low & (SETS - 1)) * WAYS * this.#width
    }
    return this.#hash
  }

  /** Where the target is, or else where it may be put: over the older of its set, but rather not
   *  over one that is exhausted, or whoever makes up keys could have his own forgotten. */
  #find(hash: number, nowUs: number = 0): number {
    const cells = this.#cells
    const first = this.#set
    const second = first + this.#width
    if (cells[first] === hash) return first
    if (cells[second] === hash) return second
    const isFirstOut = this.#isExhausted(first, nowUs)
    if (isFirstOut !== this.#isExhausted(second, nowUs)) return isFirstOut ? second : first
    return (cells[first + 1] as number) <= (cells[second + 1] as number) ? first : second
  }

  #isExhausted(at: number, nowUs: number): boolean {
    if (this.#cells[at] === 0) return false
    for (let i = at + HEADER; i < at + this.#width; i += 2) {
      if (this.#cells[i] === 0 && (this.#cells[i + 1] as number) > nowUs) return true
    }
    return false
  }

  /** Whether a sign is to be seen of a policy of which something was in use that still weighs. */
  #shows(sign: Sign, at: number, result: StoreResult, mode: Mode): boolean {
    for (let i = 0; i < this.#policies; i += 1) {
      const now = result.policies[i] as PolicyResult
      const remained = this.#cells[at + HEADER + 2 * i] as number
      const untilUs = this.#cells[at + HEADER + 2 * i + 1] as number
      if (remained >= now.limit || untilUs <= result.nowUs + LOSS_MARGIN_US) continue
      const earlierUs = untilUs - LOSS_MARGIN_US - (result.untilUs[i] as number)
      if (sign(now, remained, earlierUs, mode, result.granted)) return true
    }
    return false
  }

  #seenAt(at: number): Seen {
    const remaining: number[] = []
    const untilUs: number[] = []
    for (let i = 0; i < this.#policies; i += 1) {
      remaining.push(this.#cells[at + HEADER + 2 * i] as number)
      untilUs.push(this.#cells[at + HEADER + 2 * i + 1] as number)
    }
    return { nowUs: this.#cells[at + 1] as number, remaining, untilUs }
  }
}

/**
 * Something that shows of a policy.
 * @param earlierUs how much earlier than was seen all will be over; 0 and below: it is not earlier
 */
type Sign = (
  now: PolicyResult,
  remained: number,
  earlierUs: number,
  mode: Mode,
  granted: number,
) => boolean

/**
 * The store forgot the target: less is in use than can be, for what was in use before should have
 * lasted longer. Of a window with one end that is all of it, and of a bucket the time at which it
 * is empty; of the others it is known only where nothing is in use but what this very request took.
 * A refund by another process looks the same; its mark keeps it from being undone.
 */
const isLost: Sign = ({ cost, limit, remaining, policy }, remained, earlierUs, mode, granted) => {
  const traits = policy.kernel?.traits
  if (cost === 0) return false
  if (traits?.drains) return earlierUs > 0
  // After a penalty that leaves nothing, usage may exceed the limit by an unknown amount.
  if (mode === 'penalty' && remaining === 0) return false
  // What is reconciled may no longer count.
  const took = mode === 'reconcile' ? 0 : granted * cost
  if (took > 0 && limit - remaining === took) return true
  return traits?.hasOneEnd === true && remaining > remained - took
}

/** What a settlement takes only makes more used than is expected, so it passes for a refund. */
function isGiven(mode: Mode): boolean {
  return mode === 'refund' || mode === 'cancel' || mode === 'settle'
}

/** Less is in use than was seen and was not given back. */
const isLess: Sign = ({ cost, remaining, policy }, remained, earlierUs, mode, granted) => {
  const back = isGiven(mode) ? granted * Math.abs(cost) : 0
  if (policy.kernel?.traits.drains) return earlierUs > back * policy.unitMs * 1_000
  return remaining > remained + back
}

/** Restores what was last seen of a target. */
export function restoring(target: Target, { remaining, untilUs, nowUs }: Seen): LayerRequest {
  const costs = target.policySet.policies.map(({ limit }, i) =>
    Math.max(0, limit - (remaining[i] as number)),
  )
  return { mode: 'restore', target, costs, count: 1, untilUs, seenUs: nowUs }
}

/** Equal sets have the same text, whenever they were made. */
export function textOfSet({ name, policies }: PolicySet): string {
  return JSON.stringify([name, ...policies.map(({ signature }) => signature)])
}
