// A deadline, a circuit breaker and decisions without the store, for any store.

import { type Checks, checkAll, ofType, unchecked, wholeNumber } from '../../base/options.js'
import { processTime, type Time } from '../../base/time.js'
import { checkStore, checkWhen } from '../../request.js'
import type { Store, WhenUnavailable } from '../../store.js'
import { type LayerRequest, layerOf, type Pending } from '../layer.js'
import type { Backend } from './backend.js'
import { storeEvents } from './events.js'
import { layeredStore, type ResilientStore } from './layered-store.js'
import { ALONE, checkedInstances, type Peers } from './peers.js'
import { Resilience } from './resilience.js'

export interface ResilientOptions {
  /** How long a decision may wait for the store, in ms. 1 to 60,000. Default 100. */
  readonly deadlineMs?: number
  /** What to do when the store cannot decide; a limiter or a policy may say otherwise. Default
   *  `'local'`. */
  readonly whenUnavailable?: WhenUnavailable
  /** How many processes share the limits, and which this one is. Default 1: each takes itself for
   *  the only one. */
  readonly instances?: number | { readonly count: number; readonly rank: number }
  /** Called with a line of text when something happens, at most once a second for each kind. */
  readonly log?: (line: string) => void
}

/**
 * Any store with what `redisStore` has by itself: a deadline for each decision, a circuit breaker,
 * and `whenUnavailable`. Errors of the store become decisions made without it. If the store knows
 * the modes `reconcile` and `restore` (`recovers: true`), it is told what was admitted without it,
 * and what it has lost.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 * @example new RateLimiter({ name: 'api', store: resilient(myStore, { deadlineMs: 50 }), policy })
 */
export function resilient(store: Store, options: ResilientOptions = {}): ResilientStore {
  return resilientIn(processTime, store, options)
}

/** The store's own `close` has so long. */
const CLOSING_MS = 500

/** `resilient` in another time than the process's. */
export function resilientIn(time: Time, store: Store, options: ResilientOptions): ResilientStore {
  checkStore(store)
  checkAll(options, 'resilient()', RESILIENT_CHECKS)
  const { instances = ALONE, log, ...settings } = resilientSettings(options)
  const events = storeEvents(log, time)
  const resilience = new Resilience(backendOf(store), {
    ...settings,
    clock: undefined,
    peers: () => instances,
    events,
    time,
  })
  return layeredStore({
    first: resilience,
    resilience,
    events,
    local: store.local === true,
    async close() {
      resilience.close()
      let cancel = (): void => {}
      const tooLate = new Promise<void>((resolve) => {
        cancel = time.after(CLOSING_MS, resolve)
      })
      await Promise.race([store.close?.(), tooLate]).finally(cancel)
    },
  })
}

export const RESILIENT_CHECKS: Checks<ResilientOptions> = {
  deadlineMs: wholeNumber(1, 60_000),
  whenUnavailable: checkWhen,
  instances: unchecked,
  log: ofType('function'),
}

/** The options, completed. */
export interface ResilientSettings {
  readonly deadlineMs: number
  readonly whenUnavailable: WhenUnavailable
  /** Undefined: nothing is said of them. */
  readonly instances: Peers | undefined
  readonly log: ((line: string) => void) | undefined
}

export function resilientSettings(options: ResilientOptions): ResilientSettings {
  const { deadlineMs = 100, whenUnavailable = 'local', instances, log } = options
  const peers = instances === undefined ? undefined : checkedInstances(instances)
  return { deadlineMs, whenUnavailable, instances: peers, log }
}

/** A store as a backend of one node. */
function backendOf(store: Store): Backend {
  const layer = layerOf(store)
  const node = { name: 'store', inFlight: 0 }
  const ask = (request: LayerRequest, pending: Pending): void => {
    node.inFlight += 1
    layer.ask(request, {
      decided(result) {
        node.inFlight -= 1
        pending.decided(result)
      },
      failed(error) {
        node.inFlight -= 1
        pending.failed(error)
      },
    })
  }
  return {
    title: 'the store',
    recovers: store.recovers === true,
    next: { ask },
    nodes: { all: [node], of: () => node, keyOn: () => 'probe' },
    connection: { unready: () => undefined },
  }
}
