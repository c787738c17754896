// Brings a node back: probes it in the background with the real script on the write path, and when it answers, counts in it
// what was admitted locally meanwhile, before users' decisions go there again.

import { fixedWindow } from '../../algorithms/fixed-window/fixed-window.js'
import type { KeyFormat } from '../../redis/transport/keys.js'
import type { RedisNode } from '../../redis/transport/nodes.js'
import {
  type CountedGroup,
  decideGroups,
  grantedAt,
  type Line,
  lineFor,
  type RedisLike,
  type Reply,
} from '../../redis/transport/script-call.js'
import { makePolicySet, resultOf, type StoreRequest, type StoreResult } from '../../store.js'
import type { Events } from './events.js'
import { withDeadline } from './failures.js'
import type { Admitted, Fallback } from './fallback.js'
import { raiseOf, type Seen } from './last-seen.js'

export interface RecoveryOptions {
  readonly client: RedisLike
  readonly format: KeyFormat
  readonly deadlineMs: number
  readonly fallback: Fallback
  readonly events: Events
  readonly lineOf: (admitted: Admitted) => Line
  readonly idOf: (group: StoreRequest) => string
  /** The slot and the node that a locally admitted key belongs to. */
  readonly slotOf: (admitted: Admitted) => number
  readonly nodeOf: (admitted: Admitted) => RedisNode
  /** Redis has answered a probe. */
  readonly answered: () => void
  /** Redis has counted what was admitted locally, and says what is in use now. */
  readonly settled: (group: StoreRequest, answer: StoreResult) => void
  /** A key that lies on the node. */
  readonly probeKeyOf: (node: RedisNode) => string
  /** The store's time, where it is injected. */
  readonly nowUs: () => number | undefined
}

/** Processes that lost Redis together come back one after the other: each waits up to this long before it settles. */
const SPREAD_MS = 500
/** How long after a call that failed alone its node is told what was decided without it. */
const STRAYS_MS = 500
/** How often is looked whether the client is ready again. */
const UNREADY_MS = 50
/** Keys that are settled at once. Redis serves others between one chunk and the next. */
const CHUNK = 100

/** To be called with how many keys were settled. */
type Counted = (keys: number) => void

export class Recovery {
  readonly #options: RecoveryOptions
  readonly #probe: Line
  readonly #timers: Map<RedisNode, ReturnType<typeof setTimeout>> = new Map()
  /** Of nodes that are well, and have something to be told. */
  readonly #strays: Map<RedisNode, ReturnType<typeof setTimeout>> = new Map()
  #closed = false

  constructor(options: RecoveryOptions) {
    this.#options = options
    const policy = fixedWindow({ name: 'probe', limit: 1, window: '1s' })
    this.#probe = lineFor(options.format, makePolicySet('weir', [policy]))
  }

  /** To be called whenever a breaker may have changed: tells of it, and sees to the next probe. */
  watch(node: RedisNode, cause?: unknown): void {
    const state = node.change()
    if (state !== undefined) this.#options.events.emit('breaker', { node: node.name, state, cause })
    if (node.breaker.state !== 'open' || this.#timers.has(node) || this.#closed) return
    const dueMs = node.breaker.probeAtMs - performance.now()
    const waitMs = isReady(this.#options.client) ? dueMs : Math.max(dueMs, UNREADY_MS)
    this.#later(node, waitMs, () => this.#probeNode(node))
  }

  /** To be called when a call failed and was decided locally, though its node is well: tells the node of it. */
  settleSoon(node: RedisNode): void {
    if (this.#closed || this.#strays.has(node)) return
    const timer = setTimeout(() => {
      this.#strays.delete(node)
      if (node.breaker.state !== 'closed') return
      void this.#telling(node, (counted) => this.#settleStrays(node, counted))
    }, STRAYS_MS)
    timer.unref?.()
    this.#strays.set(node, timer)
  }

  close(): void {
    this.#closed = true
    for (const timer of [...this.#timers.values(), ...this.#strays.values()]) clearTimeout(timer)
    this.#timers.clear()
    this.#strays.clear()
  }

  #later(node: RedisNode, ms: number, action: () => Promise<void>): void {
    const timer = setTimeout(
      () => {
        void action().finally(() => {
          this.#timers.delete(node)
          this.watch(node)
        })
      },
      Math.max(1, ms),
    )
    timer.unref?.()
    this.#timers.set(node, timer)
  }

  async #probeNode(node: RedisNode): Promise<void> {
    // Nothing is sent, so this is no probe: the next one is made as soon as the client has its connection back.
    if (!isReady(this.#options.client)) return
    let failure: unknown
    try {
      await this.#sendProbe(node)
    } catch (error) {
      failure = error
    }
    if (failure === undefined) this.#options.answered()
    node.breaker.probed(failure === undefined, performance.now())
    this.watch(node, failure)
    if (node.breaker.state === 'half-open')
      await this.#telling(node, (counted) => this.#settle(node, counted))
  }

  /** A call like any other, on the write path, whose answer is of no interest. */
  async #sendProbe(node: RedisNode): Promise<void> {
    const key = this.#options.probeKeyOf(node)
    await this.#decide(this.#probe, 'penalty', [
      { group: { policySet: this.#probe.policySet, key, costs: [1] }, count: 1 },
    ])
  }

  async #settle(node: RedisNode, counted: Counted): Promise<void> {
    try {
      if (this.#options.fallback.keys > 0) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * SPREAD_MS).unref?.())
      }
      // Requests go on being decided locally while the first part is on its way; the second part is what they took.
      for (let part = 0; part < 2; part += 1) await this.#settleOnce(node, counted)
      node.breaker.settled(true, performance.now())
      this.watch(node)
      // And the last one what they took during the second: from now on Redis decides.
      await this.#settleOnce(node, counted).catch(() => this.settleSoon(node))
    } catch (error) {
      node.breaker.settled(false, performance.now())
      this.watch(node, error)
    }
  }

  async #settleStrays(node: RedisNode, counted: Counted): Promise<void> {
    try {
      // Replies come in order: those that were late, and tell that Redis has counted a request, are here before this one.
      await this.#sendProbe(node)
      if (node.breaker.state !== 'closed') return
      await this.#settleOnce(node, counted)
    } catch (error) {
      node.breaker.failed(performance.now())
      this.watch(node, error)
      this.settleSoon(node)
    }
  }

  /** Does `work`, and tells how many keys it settled, whether it came to its end or not. */
  async #telling(node: RedisNode, work: (counted: Counted) => Promise<void>): Promise<void> {
    let keys = 0
    await work((some) => {
      keys += some
    })
    if (keys > 0) this.#options.events.emit('reconciled', { node: node.name, keys })
  }

  /** Settles all that is due, those with the most units first. What cannot be settled is left for the next time. */
  async #settleOnce(node: RedisNode, counted: Counted): Promise<void> {
    const { fallback, nodeOf, idOf } = this.#options
    const mine = fallback.takeAdmitted((admitted) => isDue(nodeOf(admitted), node))
    for (let from = 0; from < mine.length; from += CHUNK) {
      const calls = this.#calls(mine.slice(from, from + CHUNK))
      const ends = await Promise.allSettled(
        calls.map(([line, some]) => this.#settleCall(line, some)),
      )
      ends.forEach(({ status }, i) => {
        if (status === 'fulfilled') counted((calls[i] as (typeof calls)[number])[1].length)
      })
      const failed = ends.find((end) => end.status === 'rejected')
      if (failed === undefined) continue
      fallback.putBack(mine.slice(from + CHUNK), idOf)
      throw failed.reason
    }
  }

  async #settleCall(line: Line, some: readonly Admitted[]): Promise<void> {
    const { fallback, idOf } = this.#options
    const groups = some.map(settling)
    try {
      // First what was last seen, in case it was lost: what was admitted since comes on top of it.
      const lost = some.filter(({ seen }) => seen !== undefined)
      if (lost.length > 0) await this.#decide(line, 'restore', lost.map(raising).map(once))
      const reply = await this.#decide(line, 'reconcile', groups.map(once), (late) => {
        fallback.settledAfterAll(some, idOf)
        this.#settled(line, groups, late)
      })
      this.#settled(line, groups, reply)
    } catch (error) {
      // At once: a reply that comes after its deadline takes back what was put back.
      fallback.putBack(some, idOf)
      throw error
    }
  }

  #settled(line: Line, groups: readonly StoreRequest[], reply: Reply): void {
    if (this.#closed) return
    groups.forEach((group, place) => {
      if (typeof grantedAt(reply, place, line.readings) !== 'number') return
      this.#options.settled(group, resultOf(group, true, reply.nowUs, line.readings))
    })
  }

  /** By line, and in a Cluster by slot: a call reaches one slot. */
  #calls(admitted: readonly Admitted[]): (readonly [Line, Admitted[]])[] {
    const calls = new Map<string, readonly [Line, Admitted[]]>()
    const lines = new Map<Line, number>()
    for (const each of admitted) {
      const line = this.#options.lineOf(each)
      if (!lines.has(line)) lines.set(line, lines.size)
      const id = `${lines.get(line)} ${this.#options.slotOf(each)}`
      const call = calls.get(id)
      if (call === undefined) calls.set(id, [line, [each]])
      else call[1].push(each)
    }
    return [...calls.values()]
  }

  async #decide(
    line: Line,
    mode: 'penalty' | 'reconcile' | 'restore',
    groups: Parameters<typeof decideGroups>[3],
    afterAll?: (reply: Reply) => void,
  ): Promise<Reply> {
    const { client, deadlineMs, nowUs } = this.#options
    if (!isReady(client)) throw new Error(`the client is ${client.status}`)
    return withDeadline(decideGroups(client, line, mode, groups, nowUs()), deadlineMs, afterAll)
  }
}

function settling({ group: { policySet, key, ownKeys }, units, untilUs }: Admitted): StoreRequest {
  return { policySet, key, ownKeys, mode: 'reconcile', costs: units, untilUs }
}

function raising({ group, seen }: Admitted): StoreRequest {
  return raiseOf(group, seen as Seen)
}

function once(group: StoreRequest): CountedGroup {
  return { group, count: 1 }
}

/** A key is settled with its node; or, if it moved to a node that is well, with the next one to come back. */
function isDue(home: RedisNode, node: RedisNode): boolean {
  return home === node || home.breaker.state === 'closed'
}

/** Whether a command would be sent, and not queued. */
export function isReady({ status }: RedisLike): boolean {
  return status === undefined || status === 'ready'
}
