// The keys of each limiter that are refused or near their limit: learnt from the channel
// `weir:decision` while somebody watches, and forgotten afterwards.

import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Decision } from '@weir/core'
import type { Time } from '../time.js'
import { NearKeys } from './near-keys.js'
import { Sketch } from './sketch.js'

const CHANNEL = 'weir:decision'
/** Slots for each limiter, so a count's error is at most a 256th of the limiter's refusals. */
const REFUSED = 256
const NEAR = 64
/** A key with at most this share of a limit left is near it, as in `stats()`. */
const NEAR_SHARE = 0.2

/** The longest key that is kept whole, in characters. Of a longer one, the start and a hash are
 *  kept, so that nobody can fill the memory with long keys. */
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

/** Seen keys, by limiter name. Limiters with the same name share their keys, because decisions tell
 *  only the name. */
export class SeenKeys {
  readonly #time: Pick<Time, 'nowMs'>
  readonly #isShown: (limiter: string) => boolean
  readonly #byLimiter = new Map<string, KeysOfLimiter>()
  #handles = 0
  #sinceMs: number | undefined

  /** @param isShown says whether a limiter of that name is shown */
  constructor(time: Pick<Time, 'nowMs'>, isShown: (limiter: string) => boolean) {
    this.#time = time
    this.#isShown = isShown
  }

  start(): void {
    if (this.#sinceMs !== undefined) return
    this.#sinceMs = this.#time.nowMs()
    subscribe(CHANNEL, this.#onDecision)
  }

  stop(): void {
    if (this.#sinceMs === undefined) return
    this.#sinceMs = undefined
    unsubscribe(CHANNEL, this.#onDecision)
    this.#byLimiter.clear()
  }

  /** Since when keys are seen, in ms since the Unix epoch. Undefined: they are not. */
  get sinceMs(): number | undefined {
    return this.#sinceMs
  }

  of(limiter: string): KeysOfLimiter | undefined {
    return this.#byLimiter.get(limiter)
  }

  /** The key of a handle. Undefined: no longer known, or too long to be kept. */
  keyOf(limiter: string, handle: string): string | undefined {
    const keys = this.#byLimiter.get(limiter)
    const key = keys?.refused.keyOf(handle) ?? keys?.near.keyOf(handle)
    return key === undefined || CUT.test(key) ? undefined : key
  }

  // A listener that throws ends the process, so this one trusts nothing in the message.
  readonly #onDecision = (message: unknown): void => {
    const decision = message as Decision
    const { limiter, limit } = decision
    if (typeof decision.key !== 'string' || typeof limit !== 'number') return
    // Decisions of `unlimited()`, and of limiters that are switched off, have no limit.
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
