// A deadline, a circuit breaker and decisions without the store, for any store.

import { Calls } from '../../base/calls.js'
import { storeClosed } from '../../base/errors.js'
import { type Checks, checkAll, ofType, unchecked, wholeNumber } from '../../base/options.js'
import { processTime, type Time } from '../../base/time.js'
import {
  LAYER,
  type Layer,
  type LayerRequest,
  layerOf,
  type Pending,
  promiseOf,
  resetOf,
  type StoreOfLayers,
} from '../../layer.js'
import { checkStore, checkWhen } from '../../request.js'
import type { Store, StoreResult, StoreStats, WhenUnavailable } from '../../store.js'
import type { Backend } from './backend.js'
import type { StoreEvents, StoreListener } from './events.js'
import { ALONE, checkedInstances, type Peers } from './peers.js'
import { Resilience, type ResilienceOptions } from './resilience.js'
import type { StoreHealth } from './status.js'

export interface ResilientOptions {
  /** How long a decision may wait for the store, in ms: 1 to 60,000. Default 100. */
  readonly deadlineMs?: number | undefined
  /** What to do when the store cannot decide, unless a limiter or a policy says. Default
   *  `'local'`. */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /**
   * How many keys this process remembers for decisions without the store, from 1,000 to 10,000,000;
   * default 100,000: see docs/resilience.md. A key of one policy takes 50 bytes, and 600 from a
   * local decision until it is counted in the store.
   */
  readonly maxLocalKeys?: number | undefined
  /** How many processes share the limits and, as `rank` from 0, which of them this one is. Default
   *  1. */
  readonly instances?: number | { readonly count: number; readonly rank: number } | undefined
  /** Called with a line of text when something happens, once a second at most for each kind. */
  readonly log?: ((line: string) => void) | undefined
}

/** A store that decides in time, made by `redisStore` or `resilient`. */
export interface ResilientStore extends Store {
  /** The store's state, for a health check or a metric. Does not ask the store. */
  health(): StoreHealth
  /** What the store has counted in this process since it was made. Does not ask the store. */
  stats(): StoreStats
  /** Listens to an event. Returns a function that stops listening. What a listener throws becomes a
   *  warning. */
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  /** Ends timers and waiting requests, within a second in any state. */
  close(): Promise<void>
}

/**
 * Gives any store what `redisStore` has by itself: a deadline, a circuit breaker, and
 * `whenUnavailable`. See docs/resilience.md.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 * @example const store = resilient(memoryStore(), { deadlineMs: 50 })
 */
export function resilient(store: Store, options: ResilientOptions = {}): ResilientStore {
  return resilientIn(processTime, store, options)
}

/** How long the store's own `close` may take. */
const CLOSING_MS = 500

/** `resilient` with an injected time. */
export function resilientIn(time: Time, store: Store, options: ResilientOptions): ResilientStore {
  checkStore(store)
  checkAll(options, 'resilient()', RESILIENT_CHECKS)
  const { instances = ALONE, ...settings } = resilientSettings(options)
  const resilience = new Resilience(backendOf(store, settings.deadlineMs, time), {
    ...settings,
    clock: undefined,
    peers: () => instances,
    time,
  })
  return layeredStore(resilience, resilience, {
    local: store.local === true,
    reserves: store.reserves === true,
    settings: store.settings,
    async close() {
      resilience.close()
      const tooLate = new Promise<void>((resolve) => void time.after(CLOSING_MS, resolve))
      await Promise.race([store.close?.(), tooLate])
    },
  })
}

/**
 * A store made of layers. Not a class, so that a proxy of it works.
 * @param first the first layer, which asks the others
 * @param close closes everything, including the resilience layer and what it asks
 */
export function layeredStore(
  first: Layer,
  resilience: Resilience,
  parts: Required<Pick<ResilientStore, 'local' | 'reserves' | 'close'>> &
    Pick<Store, 'settings'> &
    Pick<Layer, 'whenCounted'>,
): ResilientStore & StoreOfLayers {
  const { local, reserves, settings, whenCounted, close } = parts
  let isClosed = false
  const decide = (request: LayerRequest): Promise<StoreResult> => promiseOf(layer, request)
  const layer = {
    decide,
    whenCounted,
    ask(request: LayerRequest, pending: Pending): void {
      if (isClosed) pending.failed(storeClosed())
      else first.ask(request, pending)
    },
  }
  return {
    local,
    reserves,
    resilient: true,
    settings,
    decide,
    async reset(target) {
      await decide(resetOf(target))
    },
    ...resilience.status,
    on: resilience.events.on,
    close() {
      isClosed = true
      return close()
    },
    [LAYER]: layer,
  }
}

export const RESILIENT_CHECKS: Checks<ResilientOptions> = {
  deadlineMs: wholeNumber(1, 60_000),
  whenUnavailable: checkWhen,
  maxLocalKeys: wholeNumber(1_000, 10_000_000),
  instances: unchecked,
  log: ofType('function'),
}

/** The options, completed. */
export interface ResilientSettings extends Omit<ResilienceOptions, 'clock' | 'peers' | 'time'> {
  /** Undefined: the option was not given. */
  readonly instances: Peers | undefined
}

export function resilientSettings(options: ResilientOptions): ResilientSettings {
  const { deadlineMs = 100, whenUnavailable = 'local', maxLocalKeys = 100_000 } = options
  const { instances, log } = options
  const peers = instances === undefined ? undefined : checkedInstances(instances)
  return { deadlineMs, whenUnavailable, maxLocalKeys, instances: peers, log }
}

/** A store as a backend of one node. */
function backendOf(store: Store, deadlineMs: number, time: Time): Backend {
  const calls = new Calls()
  const node = { name: 'store', calls }
  const { name } = node
  const layer = layerOf(store)
  const next: Layer = {
    ask(request, pending) {
      const sentAtMs = time.nowMs()
      layer.ask(request, {
        decided(result) {
          calls.ended(name, time.nowMs() - sentAtMs, deadlineMs, 1)
          pending.decided(result)
        },
        failed(error) {
          const why = error ?? new Error('the store gave no reason')
          calls.ended(name, time.nowMs() - sentAtMs, deadlineMs, 1, why)
          pending.failed(error)
        },
      })
    },
  }
  return {
    title: 'the store',
    recovers: store.recovers === true,
    next,
    nodes: { all: [node], of: () => node, keyOn: (_, beginning = '') => `${beginning}probe` },
    unready: () => undefined,
  }
}
