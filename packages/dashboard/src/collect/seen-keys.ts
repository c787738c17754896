// Which keys are refused, and which are near, of each limiter: fed by the channel `weir:decision`
// while somebody watches, and forgotten afterwards.

import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Decision } from '@weir/core'
import type { Time } from '../time.js'
import { NearKeys } from './near-keys.js'
import { Sketch } from './sketch.js'

const CHANNEL = 'weir:decision'
/** Slots of a limiter, so an error is at most a 256th of its refusals. */
const REFUSED = 256
const NEAR = 64
/** The share of a limit at which a key is near, as in `stats()`. */
const NEAR_SHARE = 0.2

/** Characters of a key that are kept. Of a longer one its start and its hash, so that nobody fills
 *  the memory by long keys. */
const LONGEST = 1_024
const CUT = /^.{64}…[0-9a-f]{64}…$/s

function kept(key: string): string {
  if (key.length <= LONGEST) return key
  return `${key.slice(0, 64)}…${createHash('sha256').update(key).digest('hex')}…`
}

interface KeysOfLimiter {
  readonly refused: Sketch
  readonly near: NearKeys
}

/** By the names of limiters. Those that share a name share their keys, as decisions do not say
 *  more. */
export class SeenKeys {
  readonly #time: Pick<Time, 'nowMs'>
  readonly #isShown: (limiter: string) => boolean
  readonly #byLimiter = new Map<string, KeysOfLimiter>()
  #handles = 0
  #isListening = false

  /** @param isShown whether a limiter of that name is shown */
  constructor(time: Pick<Time, 'nowMs'>, isShown: (limiter: string) => boolean) {
    this.#time = time
    this.#isShown = isShown
  }

  start(): void {
    if (this.#isListening) return
    this.#isListening = true
    subscribe(CHANNEL, this.#onDecision)
  }

  stop(): void {
    if (!this.#isListening) return
    this.#isListening = false
    unsubscribe(CHANNEL, this.#onDecision)
    this.#byLimiter.clear()
  }

  of(limiter: string): KeysOfLimiter | undefined {
    return this.#byLimiter.get(limiter)
  }

  /** The key of a handle. Undefined: it is not known any more, or too long to be kept. */
  keyOf(limiter: string, handle: string): string | undefined {
    const keys = this.#byLimiter.get(limiter)
    const key = keys?.refused.keyOf(handle) ?? keys?.near.keyOf(handle)
    return key === undefined || CUT.test(key) ? undefined : key
  }

  // What a listener of a channel throws ends the process, so it believes nothing.
  readonly #onDecision = (message: unknown): void => {
    const decision = message as Decision
    const { limiter, limit } = decision
    if (typeof decision.key !== 'string' || typeof limit !== 'number') return
    // `unlimited()`, and what a limiter decides that is switched off.
    if (limit === Number.POSITIVE_INFINITY || !this.#isShown(limiter)) return
    const key = kept(decision.key)
    const policy = decision.policy?.name ?? ''
    const lastMs = this.#time.nowMs()
    if (!decision.allowed) {
      const slot = (this.#byLimiter.get(limiter) ?? this.#add(limiter)).refused.add(key)
      slot.lastMs = lastMs
      slot.policy = policy
      slot.retryAfterMs = decision.retryAfterMs
      return
    }
    const { remaining } = decision
    if (remaining > limit * NEAR_SHARE) this.#byLimiter.get(limiter)?.near.delete(key)
    else {
      const { near } = this.#byLimiter.get(limiter) ?? this.#add(limiter)
      near.add(key, { lastMs, policy, remaining, limit })
    }
  }

  #add(limiter: string): KeysOfLimiter {
    const handle = (): string => {
      this.#handles += 1
      return `h${this.#handles.toString(36)}`
    }
    const keys = { refused: new Sketch(REFUSED, handle), near: new NearKeys(NEAR, handle) }
    this.#byLimiter.set(limiter, keys)
    return keys
  }
}
