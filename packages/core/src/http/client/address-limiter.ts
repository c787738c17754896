// A limiter that counts by address. IPv6 clients count by their network, so its methods take any
// address and find the key by which it counts.

import { type AddressOptions, addressKey } from '../../base/address-key.js'
import type { Duration } from '../../base/duration.js'
import type { Decision, PartialDecision, WaitDecision } from '../../limiter/decision.js'
import { RateLimiter } from '../../limiter/limiter.js'
import type {
  AcquireOptions,
  DecideOptions,
  RateLimiterOptions,
  UpToOptions,
  WaitOptions,
} from '../../limiter/options.js'
import type { Held, Holding, HoldResult } from '../../limiter/slots/held.js'
import type { Key } from '../../policy-input.js'

export class AddressLimiter extends RateLimiter {
  readonly #keyOf: (key: Key) => Key

  constructor(options: RateLimiterOptions, addresses: AddressOptions) {
    super(options)
    const keyOfAddress = addressKey(addresses)
    // A key that is no address, such as a network, stays as it is.
    this.#keyOf = (key) => (typeof key === 'string' ? (keyOfAddress(key) ?? key) : key)
  }

  override consume(key: Key, options?: DecideOptions): Promise<Decision> {
    return super.consume(this.#keyOf(key), options)
  }

  override decide(key: Key, options?: DecideOptions): Decision | Promise<Decision> {
    return super.decide(this.#keyOf(key), options)
  }

  override wait(key: Key, options?: WaitOptions): Promise<WaitDecision> {
    return super.wait(this.#keyOf(key), options)
  }

  override consumeUpTo(key: Key, n: number, options?: UpToOptions): Promise<PartialDecision> {
    return super.consumeUpTo(this.#keyOf(key), n, options)
  }

  override peek(key: Key, options?: DecideOptions): Promise<Decision> {
    return super.peek(this.#keyOf(key), options)
  }

  override penalty(key: Key, options?: Pick<DecideOptions, 'cost' | 'policy'>): Promise<Decision> {
    return super.penalty(this.#keyOf(key), options)
  }

  override acquire(key: Key, options?: AcquireOptions): Promise<Held> {
    return super.acquire(this.#keyOf(key), options)
  }

  override hold<Value>(
    key: Key,
    work: (holding: Holding) => Value | PromiseLike<Value>,
    options?: AcquireOptions,
  ): Promise<HoldResult<Value>> {
    return super.hold(this.#keyOf(key), work, options)
  }

  override block(
    key: Key,
    duration: Duration,
    options?: Pick<DecideOptions, 'policy'>,
  ): Promise<void> {
    return super.block(this.#keyOf(key), duration, options)
  }

  override unblock(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    return super.unblock(this.#keyOf(key), options)
  }

  override reset(key: Key, options?: Pick<DecideOptions, 'policy'>): Promise<void> {
    return super.reset(this.#keyOf(key), options)
  }

  override refund(of: Decision | Key, options?: DecideOptions): Promise<void> {
    return super.refund((typeof of === 'object' ? of : this.#keyOf(of)) as Key, options)
  }
}
