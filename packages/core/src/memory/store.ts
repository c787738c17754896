// The memory store: the TypeScript kernels over tables in this process. States are numbers in typed
// arrays, without an object or a timer for each key (table.ts); states that have ended are removed
// in slices (sweeper.ts).

import type { Kernel } from '../algorithms/algorithm.js'
import { type Counter, decide } from '../algorithms/driver.js'
import { memoized } from '../base/cache.js'
import { type Clock, checkedClock, warnOfTime } from '../base/clock.js'
import { invalid, storeClosed } from '../base/errors.js'
import { checkedNumber, checkedOptions } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { LAYER, type LayerRequest, type Pending, RESET, type StoreOfLayers } from '../layer.js'
import { countedKey, counterId, resultOf } from '../request.js'
import type { PolicySet, Store, StoreRequest, StoreResult, StoreStats, Target } from '../store.js'
import { forget, KeyMarks } from './marks.js'
import { memorySettings } from './settings.js'
import { sweeper } from './sweeper.js'
import { type Bounds, MemoryTable } from './table.js'

export interface MemoryStoreOptions {
  /**
   * The most keys that each policy keeps, from 1 to 16,777,216. Default 100,000. Beyond that, the
   * least used keys make room, but never an exhausted one; when all are exhausted, new keys share
   * one counter. A key takes about 35 bytes besides its text, 80 for a sliding window. As many
   * resets and refunds are remembered (at least 10,000), of 56 bytes each.
   */
  readonly maxKeys?: number | undefined
  /**
   * How keys are told apart.
   * - `'exact'`, the default: by their texts, which are kept.
   * - `'fingerprint'`: by a hash of 64 bits with a secret of this process. Two of n keys share a
   * counter with a probability of n² / 2⁶⁵: 0.000003 % for a million.
   */
  readonly keys?: 'exact' | 'fingerprint' | undefined
  /** For tests and simulations. Default: the host's. */
  readonly clock?: Clock | undefined
}

/** A store that answers at once. Once closed, it throws a StoreError (WEIR_STORE_FAILED). */
export interface MemoryStore extends Store {
  decide(request: StoreRequest): StoreResult
  reset(target: Target): void
  /** What the store keeps. Looks at every table. */
  stats(): StoreStats
  close(): void
}

/**
 * Keeps counters in this process, and answers at once. Each process has its own limits.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return memoryStoreIn(processTime, options)
}

export function memoryStoreIn(time: Time, options: MemoryStoreOptions = {}): MemoryStore {
  checkedOptions(options, 'memoryStore()', ['maxKeys', 'keys', 'clock'])
  const { maxKeys = 100_000, keys = 'exact' } = options
  const clock = options.clock === undefined ? time : checkedClock(options.clock)
  if (options.clock === undefined) warnOfTime(clock.nowUs())
  checkedNumber('maxKeys', maxKeys, 1, 2 ** 24)
  if (keys !== 'exact' && keys !== 'fingerprint') {
    throw invalid('WEIR_INVALID_OPTION', 'keys', keys, "'exact' or 'fingerprint'", 'string')
  }
  const slackMs = options.clock === undefined ? 0 : INJECTED_SLACK_MS
  return memoryStoreOf({ clock, maxKeys, keys, slackMs, time })
}

/** A memory store with checked options. */
export function memoryStoreOf({
  clock,
  time,
  ...bounds
}: Bounds & { readonly clock: Clock; readonly time: Time }): MemoryStore {
  const tables = new Map<string, MemoryTable>()
  let preparedOf = memoized(prepare)
  const marks = new KeyMarks(bounds)
  const evictions = { count: 0 }
  let closed = false
  const tablesDropped = (): void => {
    // Prepared policy sets may refer to the dropped tables.
    preparedOf = memoized(prepare)
  }
  const sweeping = sweeper(tables, clock, time, tablesDropped, marks)

  function prepare(policySet: PolicySet) {
    const counters: Counter[] = policySet.policies.map((policy) => {
      // Every policy of a policy set has a kernel: without one, it would limit nothing.
      const kernel = policy.kernel as Kernel
      const id = counterId(policySet, policy)
      const table = tables.get(id) ?? new MemoryTable(kernel, bounds, marks.ofTable(id), evictions)
      tables.set(id, table)
      table.use(policy.numbers)
      return { kernel, scratch: kernel.prepare(policy.numbers), table, slot: -1 }
    })
    const readings = counters.map(() => ({ used: undefined, left: 0, waitMs: 0, resetUs: 0 }))
    return { counters, readings, keys: [] as string[] }
  }

  function decided(request: StoreRequest): StoreResult {
    // The counters are gone, so each limit would begin anew.
    if (closed) throw storeClosed()
    const { target } = request
    const { counters, readings, keys } = preparedOf(target.policySet)
    const nowUs = clock.nowUs()
    for (let i = 0; i < counters.length; i += 1) keys[i] = countedKey(target, i)
    const granted = decide(counters, keys, request, nowUs, readings)
    sweeping.start()
    return resultOf(request, granted, nowUs, readings)
  }

  function reset(target: Target): void {
    if (closed) throw storeClosed()
    const nowUs = clock.nowUs()
    target.policySet.policies.forEach((policy, i) => {
      const id = counterId(target.policySet, policy)
      const key = countedKey(target, i)
      const table = tables.get(id)
      if (table !== undefined) table.reset(key, nowUs)
      // Receipts may outlive their table.
      else forget(marks.ofTable(id), key, nowUs, 0)
    })
  }

  const layer = { decide: decided, decideNow: decided, reset, ask }
  const store: MemoryStore & StoreOfLayers = {
    local: true,
    recovers: true,
    reserves: true,
    resilient: true,
    settings: memorySettings(clock),
    decide: decided,
    reset,
    [LAYER]: layer,
    stats() {
      let keys = 0
      let { bytes } = marks.states
      for (const table of tables.values()) {
        keys += table.states.count
        bytes += table.states.bytes
      }
      const memory = { keys, bytes, evictions: evictions.count }
      return { kind: 'memory', nodes: [], instances: 1, unreconciled: 0, events: {}, memory }
    },
    close() {
      closed = true
      sweeping.stop()
      tables.clear()
      preparedOf = memoized(prepare)
    },
  }
  return store
}

/** Asks a memory store as a layer is asked: it answers at once. */
function ask(
  this: Pick<MemoryStore, 'decide' | 'reset'>,
  request: LayerRequest,
  pending: Pending,
): void {
  let result = RESET
  try {
    if (request.mode === 'reset') this.reset(request.target)
    else result = this.decide(request)
  } catch (error) {
    pending.failed(error)
    return
  }
  pending.decided(result)
}

/** An injected clock may go back: as in Redis, expired states are kept this much longer. */
const INJECTED_SLACK_MS = 600_000
