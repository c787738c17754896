// Processes that keep asking, and what must hold of each answer. What goes wrong, and which bound
// then holds, is in scenarios.ts.

import { seedHashes } from '../../../packages/core/src/base/key-hash.js'
import { optionsOf, policyOf, type StoryOptions } from './choices.js'
import { KeyBook } from './key-book.js'
import { DEADLINE_MS, Member } from './member.js'
import type { Machine } from './network/machine.js'
import { oneServer, type Servers, severalMasters } from './servers.js'
import type { Bound } from './story.js'
import { World } from './world/world.js'

export const SECOND_US = 1_000_000
/** Before anything goes wrong, and after all is well again. */
const BEFORE_US = 3 * SECOND_US
const AFTER_US = 9 * SECOND_US
/** How much later than its deadline a decision may come: a turn of the event loop. */
const LATE_MS = 2
/** How often a process asks several times in one turn of its event loop. */
const BURST_CHANCE = 0.15
/** Broken promises that a story reports, at the most. */
const REPORTED = 20

/** What goes wrong in a story, and what holds then. */
export interface Scenario {
  /** The fewest processes. */
  readonly least: number
  /** The processes count in a Cluster. */
  readonly isOnCluster?: true
  readonly bound: Bound
  /** Afterwards Redis counts everything that was admitted. Otherwise it may count less, within the
   *  bound. */
  readonly countsAll: boolean
  /** Lets it happen for about `us`, and repairs it. */
  readonly goWrong: (fleet: Fleet, us: number) => Promise<void>
}

export class Fleet {
  readonly world: World
  readonly options: StoryOptions
  readonly members: readonly Member[]
  readonly servers: Servers
  readonly books: readonly KeyBook[]
  readonly broken: string[] = []
  requests = 0
  /** The most that was admitted of a key beyond its limit. */
  over = 0
  readonly sources: Record<string, number> = {}
  readonly #scenario: Scenario
  readonly #gapUs: number
  #isAsking = true

  /** @param given instead of what the seed says */
  constructor(seed: number, scenario: Scenario, given: Partial<StoryOptions> = {}) {
    seedHashes([seed, seed ^ 0x5bd1e995])
    const world = new World(seed)
    const { random } = world
    this.world = world
    this.#scenario = scenario
    this.options = optionsOf(seed, scenario.least, given)
    const { processes: count, limit, denyCache, demand, masters } = this.options
    // In a Cluster more of them, so that some share a slot, and some a shard that stays well.
    const many = scenario.isOnCluster ? 2 * this.options.keys : this.options.keys
    const keys = Array.from({ length: many }, (_, i) => `user-${i}`)
    const units = limit * keys.length * demand
    this.#gapUs = Math.ceil((count * (BEFORE_US + 2 * SECOND_US + AFTER_US)) / units)
    this.servers = scenario.isOnCluster ? severalMasters(world, masters) : oneServer(world)
    const policy = policyOf(this.options)
    this.members = Array.from({ length: count }, (_, rank) => {
      const leastUs = random.whole(50, 500)
      const latency = { leastUs, mostUs: leastUs + random.whole(50, 2_000) }
      const store = { denyCache, hashTags: this.hashTags, instances: { count, rank } }
      const rate = 1 + (random.next() - 0.5) / 5_000
      return new Member(world, this.servers, { name: `p${rank}`, policy, latency, rate, store })
    })
    this.books = keys.map((key) => new KeyBook(key, limit, this.members))
    for (const machine of this.servers.machines) machine.ran = (by, _, args) => this.#ran(by, args)
    this.tell(JSON.stringify(this.options))
  }

  /** The whole story. */
  async run(): Promise<void> {
    const { world } = this
    // The first decisions of a process wait until it is connected.
    await world.runFor(SECOND_US)
    for (const member of this.members) this.#keepAsking(member)
    await world.runFor(BEFORE_US)
    this.tell('something goes wrong')
    await this.#scenario.goWrong(this, this.options.faultMs * 1_000)
    this.tell('all is well')
    await world.runFor(AFTER_US)
    this.#isAsking = false
    await world.runFor(SECOND_US)
    await this.#checkCounted()
    await this.#close()
  }

  /** The option of the stores. */
  get hashTags(): number | undefined {
    const { hashTags } = this.options
    return this.servers.cluster === undefined || hashTags < 2 ? undefined : hashTags
  }

  /** The only server; of a Cluster the first one. */
  get machine(): Machine {
    return this.servers.machines[0] as Machine
  }

  /** Processes by chance, each with this probability. */
  some(probability: number): number[] {
    return this.members.map((_, i) => i).filter(() => this.world.random.chance(probability))
  }

  /** From now on these processes may decide without Redis. */
  lose(some: readonly number[]): void {
    for (const book of this.books) book.lose(some)
  }

  tell(what: string): void {
    this.world.history.add(`${this.#at} ${what}`)
  }

  #keepAsking(member: Member): void {
    const { random } = member.host
    const next = (): void => {
      if (!this.#isAsking || member.hasLeft) return
      const book = random.pick(this.books)
      const times = random.chance(BURST_CHANCE) ? random.whole(1, this.options.mostAtOnce) : 1
      const isMixed = times > 1 && this.books.length > 1 && random.chance(0.5)
      for (let i = 0; i < times; i += 1) this.#ask(member, isMixed ? random.pick(this.books) : book)
      member.host.run(random.whole(0, 2 * this.#gapUs), next)
    }
    member.host.run(random.whole(0, this.#gapUs), next)
  }

  #ask(member: Member, book: KeyBook): void {
    const { host, limiter } = member
    this.requests += 1
    book.asked()
    const askedMs = host.time.nowMs()
    const heldUpUs = host.heldUpUs
    limiter.consume(book.key).then(
      (decision) => {
        if (host.isDead) return
        const { allowed, source } = decision
        book.answered(allowed)
        member.heard(book.key, decision)
        this.sources[source] = (this.sources[source] ?? 0) + 1
        this.tell(`${host.name} ${book.key} ${allowed ? 'allowed' : 'denied'} by ${source}`)
        const heldUpMs = (host.heldUpUs - heldUpUs) / 1_000
        const tookMs = host.time.nowMs() - askedMs - heldUpMs
        // After the event loop was held up, replies get the deadline once more.
        const mostMs = (heldUpMs > 0 ? 2 : 1) * DEADLINE_MS + LATE_MS
        this.#must(tookMs <= mostMs, `${host.name} took ${tookMs} ms to decide`)
        const isExpected = source !== 'local' || book.mayBeLocal(this.members.indexOf(member))
        this.#must(isExpected, `${host.name} decided ${book.key} without Redis, which is well`)
        if (allowed) this.#checkBound(book)
      },
      (error) => this.#must(false, `${host.name} rejected: ${error}`),
    )
  }

  #checkBound(book: KeyBook): void {
    this.over = Math.max(this.over, book.admitted - book.limit)
    const most = this.#scenario.bound(book.story)
    this.#must(book.admitted <= most, `${book.key}: ${book.admitted} admitted, ${most} may be`)
  }

  /** Redis has run a call of this process. */
  #ran(by: string, args: readonly string[]): void {
    for (const book of this.books) {
      if (!args.some((arg) => book.isKey(arg))) continue
      book.ran(this.members.findIndex(({ host }) => host.name === by))
    }
  }

  /** What was admitted is not granted again once Redis is back. */
  async #checkCounted(): Promise<void> {
    const member = this.members.find(({ host, hasLeft }) => !host.isDead && !hasLeft)
    if (member === undefined) return
    for (const { key, limit, admitted, story } of this.books) {
      let remaining: number | undefined
      void member.limiter.peek(key).then((decision) => {
        remaining = decision.remaining
      })
      await this.world.runFor(SECOND_US)
      const { countsAll, bound } = this.#scenario
      const most = countsAll ? limit : bound(story)
      const holds = remaining !== undefined && remaining <= Math.max(0, most - admitted)
      this.#must(holds, `${key}: ${admitted} of ${most} admitted, and ${remaining} remain`)
    }
  }

  async #close(): Promise<void> {
    const staying = this.members.filter(({ host, hasLeft }) => !host.isDead && !hasLeft)
    for (const { limiter, host, decisions } of staying) {
      let counted = 0
      for (const { outcome, count } of limiter.stats().decisions)
        if (outcome !== 'error') counted += count
      this.#must(counted === decisions, `${host.name}: ${decisions} decisions, ${counted} counted`)
    }
    for (const member of staying) this.leave(member)
    await this.world.runFor(2 * SECOND_US)
  }

  /** Closes the store of a process, which must have no timer left a second later. */
  leave(member: Member): void {
    const { limiter, store, host } = member
    member.hasLeft = true
    limiter.close()
    void store.close()
    this.world.after(SECOND_US, () => {
      this.#must(host.timers === 0, `${host.name}: ${host.timers} timers after its end`)
    })
  }

  #must(holds: boolean, what: string): void {
    if (holds) return
    this.tell(`BROKEN ${what}`)
    this.world.history.broke()
    if (this.broken.length < REPORTED) this.broken.push(`${this.#at} ${what}`)
  }

  /** Seconds since the world began. */
  get #at(): string {
    return (this.world.livedUs / SECOND_US).toFixed(6)
  }
}
