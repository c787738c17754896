// The memory store: the TypeScript kernels over tables in this process.

import { type Clock, checkedClock, systemClock } from '../clock.js'
import { quote, rangeError } from '../errors.js'
import { decideGroup, type Lane, type Reading } from '../kernels/driver.js'
import { checkedOptions } from '../options.js'
import {
  type Answer,
  answerOf,
  type Group,
  type Plan,
  type Store,
  type Subject,
  textOfOwnKey,
} from '../store.js'
import { type Bounds, MemoryTable } from './memory-table.js'
import { sweeper } from './sweeper.js'

export interface MemoryStoreOptions {
  /** The most keys that each policy keeps. Beyond it, keys that were used least make room; an exhausted key never
   *  does. Default 100,000, at about 100 bytes each. */
  readonly maxKeys?: number
  /** Time, for tests and simulations. Default: the host's clock. */
  readonly clock?: Clock
}

/** A store that answers at once. */
export interface MemoryStore extends Store {
  decide(group: Group): Answer
  reset(subject: Subject): void
  close(): void
}

/**
 * Keeps counters in this process: no set-up, no round trip, and each process has limits of its own. Answers at once.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkedOptions(options, 'memoryStore()', ['maxKeys', 'clock'])
  const { maxKeys = 100_000 } = options
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24) {
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `maxKeys is ${quote(maxKeys)}; give a whole number from 1 to ${2 ** 24}`,
    )
  }
  const tables = new Map<string, MemoryTable>()
  const slackMs = options.clock === undefined ? 0 : INJECTED_SLACK_MS
  const desks = new WeakMap<Plan, Desk>()
  const sweeping = sweeper(tables, clock)

  function deskOf(plan: Plan): Desk {
    let desk = desks.get(plan)
    if (desk === undefined) {
      desk = deskFor(plan, tables, { maxKeys, slackMs })
      desks.set(plan, desk)
    }
    return desk
  }

  return {
    local: true,
    decide(group: Group): Answer {
      const { lanes, readings, keys } = deskOf(group.plan)
      const nowUs = clock.nowUs()
      for (let i = 0; i < lanes.length; i += 1) keys[i] = keyOf(group, i)
      const granted = decideGroup(
        lanes,
        keys,
        group.costs,
        group.mode,
        1,
        group.untilUs ?? NONE,
        group.mode === 'refund' ? group.seenUs : undefined,
        nowUs,
        readings,
      )
      sweeping.start()
      return answerOf(group, granted > 0, nowUs, readings)
    },
    reset(subject: Subject) {
      const nowUs = clock.nowUs()
      deskOf(subject.plan).lanes.forEach(({ table }, i) => {
        table.reset(keyOf(subject, i), nowUs)
      })
    },
    close() {
      sweeping.stop()
      for (const table of tables.values()) table.clear()
    },
  }
}

/** An injected clock may go back: as in Redis, what has expired is kept this much longer. */
const INJECTED_SLACK_MS = 600_000
const NONE: readonly undefined[] = []

/** Whom the i-th policy limits. */
function keyOf({ key, ownKeys }: Subject, i: number): string {
  const own = ownKeys?.[i]
  return own === undefined ? key : textOfOwnKey(own)
}

/** What a plan's decisions are worked out on: made once, used by each in turn. */
interface Desk {
  readonly lanes: readonly (Lane & { readonly table: MemoryTable })[]
  readonly readings: readonly Reading[]
  readonly keys: string[]
}

function deskFor(plan: Plan, tables: Map<string, MemoryTable>, bounds: Bounds): Desk {
  const lanes = plan.policies.map((policy) => {
    const kernel = policy.kernel as NonNullable<typeof policy.kernel>
    const id = `${plan.name}:${policy.name}:${kernel.id}`
    let table = tables.get(id)
    if (table === undefined) {
      table = new MemoryTable(kernel, kernel.check(policy.numbers), bounds)
      tables.set(id, table)
    }
    return { kernel, check: kernel.check(policy.numbers), table, slot: -1 }
  })
  return { lanes, readings: lanes.map(() => ({ left: 0, waitMs: 0, resetUs: 0 })), keys: [] }
}
