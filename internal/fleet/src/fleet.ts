// Processes that ask on and on, and what must hold of every answer. What goes wrong meanwhile, and
// which bound holds then, is in scenarios.ts.

import { seedHashes } from '../../../packages/core/src/base/key-hash.js'
import {
  fixedWindow,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../packages/core/src/index.js'
import type { Story } from './bounds.js'
import { KeyBook } from './key-book.js'
import { DEADLINE_MS, Member } from './member.js'
import { Machine } from './network/machine.js'
import { SimulatedRedis } from './redis/server.js'
import { World } from './world/world.js'

export const SECOND_US = 1_000_000
/** Before anything goes wrong, and after all is well again. */
const BEFORE_US = 3 * SECOND_US
const AFTER_US = 9 * SECOND_US
/** Longer than any story, so that all that is admitted counts. */
const WINDOW = '1h'
/** How much later than its deadline a decision may be: the turn of the event loop it is made in. */
const LATE_MS = 2
/** Now and then a process asks several times in one turn of its event loop. */
const BURST_CHANCE = 0.15
const MOST_AT_ONCE = 6
/** Broken promises that are told of a story. */
const TOLD = 20

/** What a story is, beside the fleet. */
export interface Scenario {
  /** Processes at the least. */
  readonly least: number
  /** What may be admitted of a key at the most. */
  readonly bound: (story: Story) => number
  /** Once all is well, Redis counts all that was admitted; else it may count less, within the
   *  bound. */
  readonly countsAll: boolean
  /** What goes wrong, until it is well again; about `us`. */
  readonly goWrong: (fleet: Fleet, us: number) => Promise<void>
}

export class Fleet {
  readonly world: World
  readonly members: readonly Member[]
  readonly machine: Machine
  readonly books: readonly KeyBook[]
  readonly broken: string[] = []
  requests = 0
  /** The most that was admitted of a key beyond its limit. */
  over = 0
  readonly sources: Record<string, number> = {}
  readonly #scenario: Scenario
  readonly #gapUs: number
  #isAsking = true

  constructor(seed: number, scenario: Scenario) {
    // Two halves of a seed for the hashes of this process.
    seedHashes([seed, seed ^ 0x5bd1e995])
    const world = new World(seed)
    const { random } = world
    this.world = world
    this.#scenario = scenario
    const count = random.whole(scenario.least, 6)
    const limit = random.whole(count, random.pick([20, 100, 400]))
    const keys = Array.from({ length: random.whole(1, 3) }, (_, i) => `user-${i}`)
    // From a demand that leaves some to one that is refused from before the fault on.
    const demand = limit * keys.length * (0.4 + 6 * random.next() ** 2)
    this.#gapUs = Math.ceil((count * (BEFORE_US + 2 * SECOND_US + AFTER_US)) / demand)
    this.machine = new Machine(world, 'redis', new SimulatedRedis(() => world.nowUs))
    const policy = policyOf(random.whole(0, 4), limit)
    const denyCache = random.chance(0.5)
    this.members = Array.from({ length: count }, (_, rank) => {
      const leastUs = random.whole(50, 500)
      const latency = { leastUs, mostUs: leastUs + random.whole(50, 2_000) }
      const store = { denyCache, instances: { count, rank } }
      const rate = 1 + (random.next() - 0.5) / 5_000
      return new Member(world, this.machine, { name: `p${rank}`, policy, latency, rate, store })
    })
    this.books = keys.map((key) => new KeyBook(key, limit, this.members))
    this.machine.ran = (by, _, args) => this.#ran(by, args)
    const { algorithm } = policy
    this.tell(`${count} processes, limit ${limit}, ${algorithm}, ${keys.length} keys`)
  }

  /** The whole story. */
  async run(): Promise<void> {
    const { world } = this
    // Connected, as the first decisions of a process wait for it.
    await world.runFor(SECOND_US)
    for (const member of this.members) this.#askOnAndOn(member)
    await world.runFor(BEFORE_US)
    const us = world.random.whole(SECOND_US, 4 * SECOND_US)
    this.tell('something goes wrong')
    await this.#scenario.goWrong(this, us)
    this.tell('all is well')
    await world.runFor(AFTER_US)
    this.#isAsking = false
    await world.runFor(SECOND_US)
    await this.#checkCounted()
    await this.#close()
  }

  /** Of the processes, some, each with this probability. */
  some(probability: number): number[] {
    return this.members.map((_, i) => i).filter(() => this.world.random.chance(probability))
  }

  /** These processes decide without Redis from now on, for all that is known. */
  lose(some: readonly number[]): void {
    for (const book of this.books) book.lose(some)
  }

  tell(what: string): void {
    this.world.history.add(`${this.#at} ${what}`)
  }

  #askOnAndOn(member: Member): void {
    const { random } = member.host
    const next = (): void => {
      if (!this.#isAsking || member.hasLeft) return
      const book = random.pick(this.books)
      const times = random.chance(BURST_CHANCE) ? random.whole(2, MOST_AT_ONCE) : 1
      for (let i = 0; i < times; i += 1) this.#ask(member, book)
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
    let answers = 0
    limiter.consume(book.key).then(
      (decision) => {
        if (host.isDead) return
        answers += 1
        book.inFlight -= 1
        member.heard(book.key, decision)
        const { allowed, source } = decision
        this.sources[source] = (this.sources[source] ?? 0) + 1
        this.tell(`${host.name} ${book.key} ${allowed ? 'allowed' : 'denied'} by ${source}`)
        const heldUpMs = (host.heldUpUs - heldUpUs) / 1_000
        const tookMs = host.time.nowMs() - askedMs - heldUpMs
        // Where the event loop was held up, replies have as long again.
        const mostMs = (heldUpMs > 0 ? 2 : 1) * DEADLINE_MS + LATE_MS
        this.#must(answers === 1, `${host.name} answered a request ${answers} times`)
        this.#must(tookMs <= mostMs, `${host.name} took ${tookMs} ms to decide`)
        if (allowed) this.#admit(book)
      },
      (error) => this.#must(false, `${host.name} rejected: ${error}`),
    )
  }

  #admit(book: KeyBook): void {
    book.admitted += 1
    this.over = Math.max(this.over, book.admitted - book.limit)
    const most = this.#scenario.bound(book.story)
    this.#must(book.admitted <= most, `${book.key}: ${book.admitted} admitted, ${most} may be`)
  }

  /** Redis has run a call: the first one of a key after a loss shows what was lost. */
  #ran(by: string, args: readonly string[]): void {
    for (const book of this.books) {
      if (!args.some((arg) => arg.includes(`{${book.key}}`))) continue
      book.ran(this.members.findIndex(({ host }) => host.name === by))
    }
  }

  /** Once all is well, nobody is granted what was admitted already. */
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

  /** A process asks nothing more, closes its store, and has nothing left to do within a second. */
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
    if (this.broken.length < TOLD) this.broken.push(`${this.#at} ${what}`)
  }

  /** Seconds since the world began. */
  get #at(): string {
    return (this.world.livedUs / SECOND_US).toFixed(6)
  }
}

function policyOf(which: number, limit: number): Policy {
  const window = WINDOW
  if (which === 0) return tokenBucket({ capacity: limit, refill: 1, every: WINDOW })
  if (which === 1) return fixedWindow({ limit, window })
  if (which === 2) return slidingWindow({ limit, window })
  if (which === 3) return slidingCounter({ limit, window })
  return slidingLog({ limit, window })
}
