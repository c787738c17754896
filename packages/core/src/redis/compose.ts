// How the Redis store decides, put together from its parts:
//
//   decide -> denied a moment ago? -> a lease? -> breaker of the node -> batches -> calls, with a deadline -> Redis
//                                            | open, or the call failed
//                                            v
//                                        fallback: in memory, with this instance's share

import type { Clock } from '../base/clock.js'
import { type StoreError, storeClosed } from '../base/errors.js'
import { decideBySlot, partsBySlot, slotsOf } from '../layers/across-slots.js'
import type { LeaseOptions } from '../layers/leases.js'
import { type Breaker, circuitBreaker, guardedBreaker } from '../layers/resilience/breaker.js'
import { type LossesOptions, noteAnswer } from '../layers/resilience/data-loss.js'
import { warnWhenDegraded } from '../layers/resilience/degraded.js'
import {
  type Events,
  type StoreEvents,
  type StoreListener,
  storeEvents,
} from '../layers/resilience/events.js'
import {
  concernsNode,
  storeFailure,
  timedOut,
  withDeadline,
} from '../layers/resilience/failures.js'
import { Fallback } from '../layers/resilience/fallback.js'
import type { Seen } from '../layers/resilience/last-seen.js'
import {
  type Heartbeat,
  heartbeat,
  INSTANCES_TAG,
  type Instances,
} from '../layers/resilience/peers.js'
import { isReady, Recovery } from '../layers/resilience/recovery.js'
import { decideWithoutStore, localPart } from '../layers/resilience/unavailable.js'
import type { StoreRequest, StoreResult, Target, WhenUnavailable } from '../store.js'
import { type FirstConnection, firstConnection } from './client/first-connection.js'
import { type Permissions, permissions } from './client/permissions.js'
import { type Desk, Desks, idOf } from './desks.js'
import { type As, type Asker, asIs, Question } from './question.js'
import type { RedisHealth, RedisStore } from './store.js'
import { Batches, type Entry, type Waiter } from './transport/batching.js'
import { Calls } from './transport/dispatcher.js'
import { slotOf } from './transport/hash-slot.js'
import { hashTagOf, type KeyFormat } from './transport/keys.js'
import { Nodes, type RedisNode } from './transport/nodes.js'
import { type RedisLike, resetTarget } from './transport/script-call.js'
import { serverClock } from './transport/server-clock.js'

/** The options of a Redis store, checked and completed. */
export interface Settings {
  readonly format: KeyFormat
  readonly clock: Clock | undefined
  readonly deadlineMs: number
  readonly maxInFlight: number
  readonly whenUnavailable: WhenUnavailable
  readonly instances: Instances | undefined
  readonly denyCache: boolean
  readonly leases: LeaseOptions | undefined
  readonly breaker: ((node: string) => Breaker) | undefined
  readonly log: ((line: string) => void) | undefined
}

export function layeredStore(client: RedisLike, settings: Settings): RedisStore {
  return new LayeredStore(client, settings)
}

class LayeredStore implements RedisStore, Asker {
  readonly #client: RedisLike
  readonly #settings: Settings
  readonly #desks: Desks
  readonly #nodes: Nodes
  readonly #batches: Batches
  readonly #calls: Calls
  readonly #events: Events
  readonly #losses: LossesOptions
  readonly #fallback: Fallback
  readonly #recovery: Recovery
  readonly #heartbeat: Heartbeat | undefined
  readonly #first: FirstConnection
  readonly #permissions: Permissions
  readonly #endWarnings: () => void
  readonly #serverClock = serverClock()
  #answered = false
  #closed = false

  constructor(client: RedisLike, settings: Settings) {
    const { format, clock, deadlineMs, maxInFlight, instances } = settings
    this.#client = client
    this.#settings = settings
    this.#events = storeEvents(settings.log)
    this.#permissions = permissions(client, format.prefix, deadlineMs)
    this.#endWarnings = warnWhenDegraded(this.#events, settings.whenUnavailable)
    this.#events.on('breaker', ({ node: name, cause }) => {
      const node = [...this.#nodes.all].find((each) => each.name === name)
      if (node !== undefined && cause !== undefined) this.#doubted(node, cause)
    })
    this.#first = firstConnection(client, deadlineMs)
    const { breaker } = settings
    this.#nodes = new Nodes(client, (node) => {
      return breaker === undefined ? circuitBreaker() : guardedBreaker(() => breaker(node), node)
    })
    this.#desks = new Desks({
      ...settings,
      nowUs: () => this.#nowUs(),
      tell: (group) => this.#tell(group),
    })
    if (instances === undefined) {
      const failed = (error: unknown) => this.#permissions(error, () => INSTANCES_TAG)
      this.#heartbeat = heartbeat(client, format.prefix, () => this.#mayBeat(), failed)
    }
    this.#fallback = new Fallback(clock ?? this.#serverClock, () => this.#instances())
    this.#recovery = new Recovery({
      client,
      format,
      deadlineMs,
      fallback: this.#fallback,
      events: this.#events,
      lineOf: ({ group }) => this.#desks.of(group.policySet).line,
      idOf,
      answered: () => {
        this.#answered = true
      },
      settled: (group, answer) => {
        noteAnswer(group, idOf(group), this.#desks.of(group.policySet), answer, this.#losses)
      },
      probeKeyOf: (node) => this.#keyOn(node),
      slotOf: ({ group }) => this.#slotOf(group),
      nodeOf: ({ group }) => this.#nodes.ofSlot(this.#slotOf(group)),
      nowUs: () => this.#nowUs(),
    })
    this.#calls = new Calls(client, this.#nodes, {
      deadlineMs,
      maxInFlight,
      connecting: () => this.#connecting(),
      learnt: (node, cause) => {
        this.#recovery.watch(node, cause)
        this.#doubted(node, cause)
      },
      replied: (nowUs) => {
        this.#answered = true
        this.#serverClock.noted(nowUs)
        this.#heartbeat?.start()
      },
      late: (entry, granted) => this.#late(entry, granted),
    })
    this.#batches = new Batches((batch) => this.#calls.send(batch))
    this.#losses = { events: this.#events, ask: (group, waiter) => this.#ask(group, waiter) }
  }

  decide(group: StoreRequest): StoreResult | Promise<StoreResult> {
    return this.decideAs(group, asIs)
  }

  decideAs<Result>(group: StoreRequest, as: As<Result>): Result | Promise<Result> {
    if (this.#closed) throw storeClosed()
    if (
      this.#client.isCluster === true &&
      group.ownKeys !== undefined &&
      slotsOf(group, this.#settings.format).size > 1
    ) {
      const { format, deadlineMs } = this.#settings
      const startedMs = performance.now()
      const decided = decideBySlot(group, format, (part) => {
        if (performance.now() - startedMs < deadlineMs) return this.#decideInSlot(part, asIs)
        return this.#decideTooLate(part)
      })
      return decided.then((answer) => as(group, answer))
    }
    return this.#decideInSlot(group, as)
  }

  async reset(target: Target): Promise<void> {
    if (this.#closed) throw storeClosed()
    const isSplit = this.#client.isCluster === true && target.ownKeys !== undefined
    const parts = isSplit ? partsBySlot(target, this.#settings.format) : [target]
    for (const part of parts) this.#desks.of(part.policySet).leases?.end(idOf(part))
    // What was asked for before it is to be decided before it.
    this.#batches.flush()
    await Promise.all(parts.map((part) => this.#resetInSlot(part)))
  }

  health(): RedisHealth {
    const nodes = [...this.#nodes.all].map(({ name, breaker: { state }, inFlight }) => ({
      name,
      state,
      inFlight,
    }))
    const worst =
      nodes.find(({ state }) => state === 'open') ??
      nodes.find(({ state }) => state === 'half-open')
    return {
      state: this.#answered ? (worst?.state ?? 'closed') : 'never-connected',
      nodes,
      instances: this.#instances().count,
      localKeys: this.#fallback.keys,
    }
  }

  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void {
    return this.#events.on(name, listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#desks.close()
    this.#batches.flush()
    this.#first.close()
    this.#calls.close()
    this.#recovery.close()
    this.#fallback.close()
    this.#events.clear()
    this.#endWarnings()
    await withDeadline(Promise.resolve(this.#heartbeat?.stop()), CLOSING_MS).catch(() => {})
  }

  async #resetInSlot(target: Target): Promise<void> {
    const desk = this.#desks.of(target.policySet)
    const id = idOf(target)
    desk.seen.forget(id, desk.salt)
    desk.denials?.changed(id, target)
    const part = localPart(target, this.#settings.whenUnavailable)
    const own = this.#desks.of(part.policySet)
    own.seen.forget(idOf(part), own.salt)
    this.#fallback.forget(idOf(part), part)
    const node = this.#nodes.ofSlot(this.#slotOf(target))
    if (!this.#usable(node)) throw this.#notUsable(node)
    try {
      await withDeadline(
        Promise.resolve(this.#connecting()).then(() =>
          resetTarget(this.#client, desk.line, target, this.#nowUs()),
        ),
        this.#settings.deadlineMs,
      )
    } catch (error) {
      if (concernsNode(error as StoreError)) {
        node.breaker.failed(performance.now())
        this.#recovery.watch(node, error)
      }
      this.#doubted(node, error)
      throw error
    } finally {
      // Of denials that came in meanwhile, too, and also if nobody knows whether it was done.
      desk.denials?.changed(id, target)
    }
  }

  #decideInSlot<Result>(group: StoreRequest, as: As<Result>): Result | Promise<Result> {
    const desk = this.#desks.of(group.policySet)
    const id = idOf(group)
    const known = desk.denials?.answer(id, group) ?? desk.leases?.answer(id, group)
    if (known !== undefined) return as(group, known)
    const slot = this.#slotOf(group)
    const node = this.#nodes.ofSlot(slot)
    node.tag = group.ownKeys?.[0]?.tag ?? group.key
    if (!this.#usable(node)) return as(group, this.#without(group, node, this.#notUsable(node)))
    const question = new Question(this, group, desk, node, as)
    const ahead = desk.leases?.wanted(id, group)
    this.#batches.ask(desk.line, slot, group, this.#nowUs(), question, ahead)
    return question.promise
  }

  /** A part of a decision whose time was used up by the parts before it. */
  #decideTooLate(part: StoreRequest): StoreResult | undefined {
    if (part.mode === 'refund') {
      void Promise.resolve(this.#decideInSlot(part, asIs)).catch(() => {})
      return undefined
    }
    const node = this.#nodes.ofSlot(this.#slotOf(part))
    return this.#without(part, node, timedOut(this.#settings.deadlineMs))
  }

  /** Asks Redis, if it can be asked, and nobody waits for the answer. */
  #tell(group: StoreRequest): void {
    if (!this.#usable(this.#nodes.ofSlot(this.#slotOf(group)))) return
    const { seen, salt } = this.#desks.of(group.policySet)
    this.#ask(group, {
      answered: (answer) => void seen.note(idOf(group), salt, answer, group.mode),
      failed() {},
    })
  }

  #ask(group: StoreRequest, waiter: Waiter): void {
    this.#batches.ask(
      this.#desks.of(group.policySet).line,
      this.#slotOf(group),
      group,
      this.#nowUs(),
      waiter,
    )
  }

  /** The store has answered. */
  noted(group: StoreRequest, desk: Desk, answer: StoreResult, sentMs: number): void {
    const id = idOf(group)
    desk.denials?.noted(id, group, answer, sentMs)
    noteAnswer(group, id, desk, answer, this.#losses)
  }

  /** The store has not answered, or not in time, or cannot decide this key. */
  failed(group: StoreRequest, node: RedisNode, error: StoreError): StoreResult {
    if (!concernsNode(error)) {
      this.#events.emit('key-error', {
        limiter: group.policySet.name,
        key: group.key,
        cause: error,
      })
      this.#doubted(node, error)
    }
    return this.#without(group, node, error)
  }

  #without(group: StoreRequest, node: RedisNode, cause: StoreError): StoreResult {
    this.#events.emit('fallback', { limiter: group.policySet.name, key: group.key, cause })
    if (node.breaker.state === 'closed') this.#recovery.settleSoon(node)
    return decideWithoutStore(group, {
      otherwise: this.#settings.whenUnavailable,
      cause,
      retryAfterMs:
        node.breaker.state === 'open' ? node.breaker.probeAtMs - performance.now() : 1_000,
      local: (part, places) => {
        return this.#fallback.decide(part, idOf(part), this.#lastSeen(group, part, places))
      },
    })
  }

  /** What was last seen of the policies at these places: with the others, or when they were settled by themselves. */
  #lastSeen(group: StoreRequest, part: StoreRequest, places: readonly number[]): Seen | undefined {
    const desk = this.#desks.of(group.policySet)
    const id = idOf(group)
    const whole = desk.seen.get(id, desk.salt)
    if (part === group) return whole
    const own = this.#desks.of(part.policySet)
    const alone = own.seen.get(idOf(part), own.salt)
    if (alone !== undefined && (whole === undefined || alone.nowUs > whole.nowUs)) return alone
    return whole && partOfSeen(whole, places)
  }

  /** A failure that may be for want of a permission. */
  #doubted(node: RedisNode, error: unknown): void {
    this.#permissions(error, () => this.#tagOn(node))
  }

  #tagOn(node: RedisNode): string {
    return hashTagOf(this.#settings.format, this.#keyOn(node))
  }

  /** The client's first connection, while it is made. */
  #connecting(): Promise<void> | undefined {
    return this.#answered || isReady(this.#client) ? undefined : this.#first.pending()
  }

  /** Whether users' decisions may go to the node. A client that has lost its connection is not queued on. */
  #usable(node: RedisNode): boolean {
    if (node.breaker.state !== 'closed') {
      this.#recovery.watch(node)
      return false
    }
    if (isReady(this.#client) || this.#connecting() !== undefined) return true
    const why = this.#notUsable(node)
    node.breaker.failed(performance.now())
    this.#recovery.watch(node, why)
    return false
  }

  #notUsable({ breaker: { state } }: RedisNode): StoreError {
    const why =
      state === 'closed'
        ? `the client is ${this.#client.status}`
        : `its circuit breaker is ${state}`
    return storeFailure(new Error(why))
  }

  #mayBeat(): boolean {
    const slot = this.#client.isCluster === true ? slotOf(INSTANCES_TAG) : 0
    return isReady(this.#client) && this.#nodes.ofSlot(slot).breaker.state === 'closed'
  }

  #instances(): Instances {
    return this.#settings.instances ?? (this.#heartbeat as Heartbeat).instances
  }

  #nowUs(): number | undefined {
    return this.#settings.clock?.nowUs()
  }

  #late({ group, waiters }: Entry, granted: number): void {
    if (group.mode !== 'consume' && group.mode !== 'penalty') return
    const part = localPart(group, this.#settings.whenUnavailable)
    this.#fallback.countedAfterAll(part, idOf(part), Math.min(granted, waiters.length))
  }

  #slotOf({ key, ownKeys }: Pick<Target, 'key' | 'ownKeys'>): number {
    if (this.#client.isCluster !== true) return 0
    return slotOf(hashTagOf(this.#settings.format, ownKeys?.[0]?.tag ?? key))
  }

  /** A key that lies on a node. Any, if the node has no slots any more: what was admitted for it is settled elsewhere then. */
  #keyOn(node: RedisNode): string {
    const isThere = (key: string) => this.#nodes.ofSlot(this.#slotOf({ key })) === node
    if (node.tag !== undefined && isThere(node.tag)) return node.tag
    // The slot of the last one has moved.
    for (let n = 0; n < 1_000; n += 1) if (isThere(`probe${n}`)) return `probe${n}`
    return 'probe'
  }
}

/** Whatever is still to be told when the store is closed has so long. */
const CLOSING_MS = 500

/** What was seen of the policies at these places. */
function partOfSeen({ nowUs, remaining, untilUs }: Seen, places: readonly number[]): Seen {
  return {
    nowUs,
    remaining: places.map((i) => remaining[i] as number),
    untilUs: places.map((i) => untilUs[i] as number),
  }
}
