// The Redis store that users get, put together from its parts:
//
//   decide -> denied a moment ago? -> breaker of the node -> batches -> calls, with a deadline -> Redis
//                                            | open, or the call failed
//                                            v
//                                        fallback: in memory, with this instance's share

import { type Clock, checkedClock } from '../clock.js'
import { quote, rangeError, type StoreError } from '../errors.js'
import type { Answer, Group, Plan, Store, Subject, WhenUnavailable } from '../store.js'
import { Batches, type Entry, type Waiter } from './batches.js'
import { type Breaker, type BreakerState, circuitBreaker } from './breaker.js'
import { Calls } from './calls.js'
import { checkClient } from './client-check.js'
import { Denials } from './denials.js'
import { type Events, type StoreEvents, type StoreListener, storeEvents } from './events.js'
import { concernsNode, storeFailure } from './failures.js'
import { Fallback } from './fallback.js'
import { checkedInstances, type Heartbeat, heartbeat } from './instances.js'
import { encodePart } from './keys.js'
import { LastSeen, type Seen } from './last-seen.js'
import { Nodes, type RedisNode } from './nodes.js'
import { isReady, Recovery } from './recovery.js'
import { type Line, lineFor, type RedisLike, resetSubject } from './redis-call.js'
import { serverClock } from './server-clock.js'
import { slotOf } from './slots.js'
import { decideBySlot, slotsOf } from './split.js'
import { decideWithoutStore } from './unavailable.js'

export interface RedisStoreOptions {
  /** The first part of every key. Letters, digits, '_', '.', ':' and '-', at most 64. Default `'weir'`. */
  readonly prefix?: string
  /** Time, for tests and simulations. Default: the clock of the Redis server, which all processes share. */
  readonly clock?: Clock
  /** How long a decision may wait for Redis, in ms. Default 100. */
  readonly deadlineMs?: number
  /** How many calls may wait for a Redis node at once; beyond, decisions are made as if it were down. Default 1,000. */
  readonly maxInFlight?: number
  /** What to do when Redis cannot decide; a limiter or a policy may say otherwise. Default `'local'`. */
  readonly whenUnavailable?: WhenUnavailable
  /** How many processes share the limits, and which this one is. Default: counted by a heartbeat in Redis. */
  readonly instances?: number | { readonly count: number; readonly rank: number }
  /** Whether a request that was just denied is answered from memory for up to a second. Default true. */
  readonly denyCache?: boolean
  /** A circuit breaker of your own for each node. */
  readonly breaker?: (node: string) => Breaker
  /** Called with a line of text when something happens, at most once a second for each kind. */
  readonly log?: (line: string) => void
}

export interface RedisHealth {
  /** `never-connected` until Redis has answered once; else the worst state of a node's breaker. */
  readonly state: BreakerState | 'never-connected'
  readonly nodes: readonly {
    readonly name: string
    readonly state: BreakerState
    readonly inFlight: number
  }[]
  /** Processes that share the limits, as far as this one knows. */
  readonly instances: number
  /** Keys under which something was admitted locally and is to be settled. */
  readonly localKeys: number
}

export interface RedisStore extends Store {
  health(): RedisHealth
  /** Listens; returns what stops it. What a listener throws becomes a warning. */
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  /** Ends timers and waits, within a second in any state. The client stays open. */
  close(): Promise<void>
}

/**
 * Keeps counters in Redis (6.2 or newer, or Valkey), so that limits hold across processes. A decision is one atomic
 * script on the server's own clock, and is made in time even if Redis is not: see docs/resilience.md. The client stays
 * yours to close.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 * @example redisStore(new Redis(process.env.REDIS_URL, recommendedRedisOptions))
 */
export function redisStore(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  checkClient(client)
  return new LayeredRedisStore(client, options)
}

/** What is known of a plan: how to call Redis for it, and what was last seen of its subjects. */
interface Desk {
  readonly line: Line
  readonly seen: LastSeen
  /** Of all plans of the limiter's name, so that what is done under one shows under the others. */
  readonly denials: Denials | undefined
}

class LayeredRedisStore implements RedisStore {
  readonly #client: RedisLike
  readonly #prefix: string
  readonly #clock: Clock | undefined
  readonly #otherwise: WhenUnavailable
  readonly #desks: WeakMap<Plan, Desk> = new WeakMap()
  /** By the limiter's name; undefined: switched off. */
  readonly #denials: Map<string, Denials> | undefined
  readonly #nodes: Nodes
  readonly #batches: Batches
  readonly #calls: Calls
  readonly #events: Events
  readonly #fallback: Fallback
  readonly #recovery: Recovery
  readonly #heartbeat: Heartbeat | undefined
  readonly #serverClock = serverClock()
  #asked = false
  #answered = false

  constructor(client: RedisLike, options: RedisStoreOptions) {
    const { deadlineMs, maxInFlight, prefix, otherwise } = checkedOptions(options)
    this.#client = client
    this.#prefix = prefix
    this.#otherwise = otherwise
    this.#clock = options.clock === undefined ? undefined : checkedClock(options.clock)
    this.#denials = options.denyCache === false ? undefined : new Map()
    this.#events = storeEvents(options.log)
    this.#nodes = new Nodes(client, options.breaker ?? (() => circuitBreaker()))
    if (options.instances === undefined) {
      this.#heartbeat = heartbeat(client, prefix, () => this.#allWell())
    }
    const told = options.instances === undefined ? undefined : checkedInstances(options.instances)
    this.#fallback = new Fallback(
      this.#clock ?? this.#serverClock,
      () => told ?? (this.#heartbeat as Heartbeat).instances,
    )
    this.#recovery = new Recovery({
      client,
      prefix,
      deadlineMs,
      fallback: this.#fallback,
      events: this.#events,
      lineOf: ({ group }) => this.#deskOf(group.plan).line,
      nodeOf: ({ group }) => this.#nodes.ofSlot(this.#slotOf(group)),
      nowUs: () => this.#clock?.nowUs(),
    })
    this.#calls = new Calls(client, this.#nodes, {
      deadlineMs,
      maxInFlight,
      learnt: (node, cause) => this.#recovery.watch(node, cause),
      replied: (nowUs) => {
        this.#answered = true
        this.#serverClock.noted(nowUs)
      },
      late: (entry, granted) => this.#late(entry, granted),
    })
    this.#batches = new Batches((batch) => this.#calls.send(batch))
  }

  decide(group: Group): Answer | Promise<Answer> {
    if (this.#client.isCluster === true && group.ownKeys !== undefined && slotsOf(group).size > 1) {
      return decideBySlot(group, (part) => this.#decideInSlot(part))
    }
    return this.#decideInSlot(group)
  }

  async reset(subject: Subject): Promise<void> {
    const desk = this.#deskOf(subject.plan)
    const id = idOf(subject)
    desk.seen.forget(id)
    desk.denials?.forget(id)
    this.#fallback.forget(id, subject)
    if (!this.#usable(this.#nodes.ofSlot(this.#slotOf(subject)))) throw notReady(this.#client)
    await resetSubject(this.#client, desk.line, subject, this.#clock?.nowUs())
  }

  health(): RedisHealth {
    const nodes = [...this.#nodes.all].map(({ name, breaker: { state }, inFlight }) => ({
      name,
      state,
      inFlight,
    }))
    const worst =
      nodes.find(({ state }) => state === 'open') ?? nodes.find(({ state }) => state === 'half-open')
    return {
      state: this.#answered ? (worst?.state ?? 'closed') : 'never-connected',
      nodes,
      instances: this.#heartbeat?.instances.count ?? 1,
      localKeys: this.#fallback.keys,
    }
  }

  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void {
    return this.#events.on(name, listener)
  }

  async close(): Promise<void> {
    this.#calls.close()
    this.#recovery.close()
    this.#fallback.close()
    this.#events.clear()
    const patience = new Promise<void>((resolve) => setTimeout(resolve, 500).unref?.())
    await Promise.race([this.#heartbeat?.stop(), patience])
  }

  #decideInSlot(group: Group): Answer | Promise<Answer> {
    const desk = this.#deskOf(group.plan)
    const denied = desk.denials?.answer(idOf(group), group)
    if (denied !== undefined) return denied
    const slot = this.#slotOf(group)
    const node = this.#nodes.ofSlot(slot)
    if (!this.#usable(node)) return this.#without(group, desk, node, notReady(this.#client))
    if (!this.#asked) this.#firstAsked(node, group)
    return new Promise((resolve, reject) => {
      const question = new Question(this, group, desk, node, resolve, reject)
      this.#batches.ask(desk.line, slot, group, this.#clock?.nowUs(), question)
    })
  }

  /** The store has answered. */
  noted(group: Group, desk: Desk, answer: Answer): void {
    const id = idOf(group)
    desk.denials?.noted(id, group, answer)
    const lost = desk.seen.note(id, answer)
    if (lost !== undefined && group.mode === 'consume') this.#restore(group, desk, lost)
  }

  /** The store has not answered, or not in time, or cannot decide this key. */
  failed(group: Group, desk: Desk, node: RedisNode, error: StoreError): Answer {
    if (!concernsNode(error)) {
      this.#events.emit('key-error', { limiter: group.plan.name, key: group.key, cause: error })
    }
    return this.#without(group, desk, node, error)
  }

  #without(group: Group, desk: Desk, node: RedisNode, cause: StoreError): Answer {
    this.#events.emit('fallback', { limiter: group.plan.name, key: group.key, cause })
    return decideWithoutStore(group, {
      otherwise: this.#otherwise,
      cause,
      retryAfterMs: node.breaker.state === 'open' ? node.breaker.probeAtMs - performance.now() : 1_000,
      local: (part) => this.#fallback.decide(part, idOf(part), desk.seen.get(idOf(group))),
    })
  }

  /** Whether users' decisions may go to the node. A client that is not ready is not queued on. */
  #usable(node: RedisNode): boolean {
    if (node.breaker.state !== 'closed') return false
    if (isReady(this.#client)) return true
    if (this.#client.status === 'wait') this.#client.connect?.().catch(() => {})
    node.breaker.failed(performance.now())
    this.#recovery.watch(node, notReady(this.#client))
    return false
  }

  #allWell(): boolean {
    if (!isReady(this.#client)) return false
    for (const { breaker } of this.#nodes.all) if (breaker.state !== 'closed') return false
    return true
  }

  #firstAsked(node: RedisNode, group: Group): void {
    this.#asked = true
    node.tag = group.key
    this.#heartbeat?.start()
  }

  /** A key was lost before its time (flushed, evicted, a stale replica took over): tells Redis what was last seen. */
  #restore(group: Group, desk: Desk, { remaining, untilUs, nowUs }: Seen): void {
    const { plan, key, ownKeys } = group
    this.#events.emit('data-loss', { limiter: plan.name, key })
    const costs = plan.policies.map(({ limit }, i) => Math.max(0, limit - (remaining[i] as number)))
    const raise: Group = { plan, key, ownKeys, mode: 'raise', costs, untilUs, seenUs: nowUs }
    const ignored: Waiter = { answered() {}, failed() {} }
    this.#batches.ask(desk.line, this.#slotOf(group), raise, this.#clock?.nowUs(), ignored)
  }

  #late({ group, costs, waiters }: Entry, granted: number): void {
    if (group.mode !== 'consume' && group.mode !== 'charge') return
    this.#fallback.countedAfterAll(idOf(group), costs, Math.min(granted, waiters.length))
  }

  #slotOf({ key, ownKeys }: Pick<Subject, 'key' | 'ownKeys'>): number {
    if (this.#client.isCluster !== true) return 0
    return slotOf(encodePart(ownKeys?.[0]?.tag ?? key))
  }

  #denialsOf({ name }: Plan): Denials | undefined {
    let denials = this.#denials?.get(name)
    if (denials === undefined && this.#denials !== undefined) {
      denials = new Denials(() => this.#clock?.nowUs() ?? Math.floor(performance.now() * 1_000))
      this.#denials.set(name, denials)
    }
    return denials
  }

  #deskOf(plan: Plan): Desk {
    let desk = this.#desks.get(plan)
    if (desk === undefined) {
      desk = {
        line: lineFor(this.#prefix, plan),
        seen: new LastSeen(plan.policies.length),
        denials: this.#denialsOf(plan),
      }
      this.#desks.set(plan, desk)
    }
    return desk
  }
}

/** A request on its way to Redis and back. */
class Question implements Waiter {
  readonly #store: LayeredRedisStore
  readonly #group: Group
  readonly #desk: Desk
  readonly #node: RedisNode
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: unknown) => void

  constructor(
    store: LayeredRedisStore,
    group: Group,
    desk: Desk,
    node: RedisNode,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#store = store
    this.#group = group
    this.#desk = desk
    this.#node = node
    this.#resolve = resolve
    this.#reject = reject
  }

  answered(answer: Answer): void {
    this.#store.noted(this.#group, this.#desk, answer)
    this.#resolve(answer)
  }

  failed(error: StoreError): void {
    try {
      this.#resolve(this.#store.failed(this.#group, this.#desk, this.#node, error))
    } catch (thrown) {
      this.#reject(thrown)
    }
  }
}

/** A subject among all plans of a limiter's name. */
function idOf({ plan, key, ownKeys }: Subject): string {
  if (ownKeys === undefined) return key
  return JSON.stringify([plan.name, key, ...ownKeys.map((own) => own?.key)])
}

function notReady({ status }: RedisLike): StoreError {
  return storeFailure(new Error(`the client is ${status ?? 'not to be used'}`))
}

function checkedOptions(options: RedisStoreOptions) {
  const { prefix = 'weir', deadlineMs = 100, maxInFlight = 1_000, whenUnavailable = 'local' } = options
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) {
    const right = "give 1 to 64 letters, digits, '_', '.', ':' or '-'"
    throw rangeError('WEIR_INVALID_OPTION', `prefix is ${quote(prefix)}; ${right}`)
  }
  for (const [name, value, most] of [
    ['deadlineMs', deadlineMs, 60_000],
    ['maxInFlight', maxInFlight, 1_000_000],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > most) {
      throw rangeError(
        'WEIR_INVALID_OPTION',
        `${name} is ${quote(value)}; give a whole number from 1 to ${most}`,
      )
    }
  }
  if (!['local', 'allow', 'deny', 'throw'].includes(whenUnavailable)) {
    const right = "give 'local', 'allow', 'deny' or 'throw'"
    throw rangeError('WEIR_INVALID_OPTION', `whenUnavailable is ${quote(whenUnavailable)}; ${right}`)
  }
  return { prefix, deadlineMs, maxInFlight, otherwise: whenUnavailable }
}
