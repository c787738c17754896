// A store, the steps that are done to it, and what it must do.
//
//   closed, half-open --requests fail--> open --a probe is answered--> half-open --5 s--> closed
//
// The bound for one process whose Redis keeps its data is the limit, whoever decides. A request
// belongs to the instant at which it was made, or to a later one up to its decision. What was
// admitted locally under a key is reported to Redis before Redis is asked for that key again, and
// local decisions begin with what was last seen of the key. A penalty may always exceed the limit,
// and counts from then on.

import type { Decision } from '../../../../packages/core/src/limiter/decision.js'
import { inTime, RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import { type RedisStore, redisStoreIn } from '../../../../packages/core/src/redis/store.js'
import { Host } from '../../src/world/host.js'
import { World } from '../../src/world/world.js'
import { type Book, rootOf } from './book.js'
import { DEADLINE_MS, type Line, lineOf } from './line.js'
import type { Request } from './steps.js'
import { LIMIT, ROUNDED, type Subject, sum, WINDOW_MS } from './usage.js'

type State = 'closed' | 'open' | 'half-open'

const TRANSITIONS = [
  'closed -> open',
  'open -> half-open',
  'half-open -> closed',
  'half-open -> open',
]

/** What random steps must have shown. */
export const EXPECTED: readonly string[] = [
  ...TRANSITIONS,
  'local while closed',
  'local while open',
  'local while half-open',
  'settled to the unit',
  'reset',
  'a reset is refused',
  ...['consume', 'penalty', 'peek', 'probe', 'reconcile'].map(
    (mode) => `the reply to a ${mode} is late`,
  ),
  ...['consume', 'penalty'].map((mode) => `the reply to a ${mode} is lost`),
]

/** A recovery that has begun is finished, and a loss that a late reply shows is restored. */
const MAY_BE_SENT_WHILE_OPEN = ['probe', 'reconcile', 'restore']

/** Longer than anything that should happen at once. */
const AT_ONCE_US = 2_000
/** The shortest timer, which ends deadlines that are nearer than it; and a microsecond. */
const TICK_MS = 1.001

export class Run {
  readonly world: World
  readonly line: Line
  /** The broken promises. */
  readonly faults: string[] = []
  /** The number of unanswered requests. */
  pending = 0
  readonly #host: Host
  readonly #store: RedisStore
  readonly #limiter: RateLimiter
  readonly #subject: Subject
  readonly #seen: Set<string>
  readonly #books: Map<string, Book> = new Map()
  #state: State = 'closed'
  #openedUs = 0
  #isClosed = false
  /** A reply came too late or not at all, so Redis may count more than was admitted. */
  #hasGhosts = false

  /** @param seen collects what has happened */
  constructor(subject: Subject, seed: number, seen: Set<string>) {
    const { policy } = subject
    this.#subject = subject
    this.#seen = seen
    this.world = new World(seed)
    this.#host = new Host(this.world, 'one')
    this.line = lineOf(this.#host, policy.numbers.length, {
      called: (mode) => this.#called(mode),
      ran: (mode, key, units) => this.#ran(mode, key, units),
      missed: (mode, how) => {
        if (how === 'lost') this.#hasGhosts = true
        seen.add(`the reply to a ${mode} is ${how}`)
      },
    })
    const { time } = this.#host
    this.#store = redisStoreIn(time, this.line.connection, {
      deadlineMs: DEADLINE_MS,
      instances: { count: 1, rank: 0 },
    })
    this.#store.on('breaker', ({ state }) => this.#changed(state))
    const made = inTime(time, { name: 'outage', store: this.#store, policy, shared: true })
    this.#limiter = new RateLimiter(made)
  }

  /** The number of timers of the process. */
  get timers(): number {
    return this.#host.timers
  }

  /** Connects, and makes Redis load the script: a call whose script is unknown is sent twice, the
   *  second time even if its request is decided by then. */
  async begin(): Promise<void> {
    await this.settle()
    void this.#limiter.peek('other')
    await this.settle()
  }

  /** Lets everything happen that happens at once. */
  settle(): Promise<void> {
    return this.world.runFor(AT_ONCE_US)
  }

  pass(ms: number): Promise<void> {
    return this.world.runFor(ms * 1_000)
  }

  /** Compares the store's own figures with what it reported. */
  compare(): void {
    const { state } = this.#store.health().nodes[0] as { state: string }
    this.#must(state === this.#state, `${state} after an event of ${this.#state}`)
  }

  ask(request: Request): void {
    const { key, cost, mode } = request
    const askedMs = this.#nowMs
    const book = this.#bookOf(key)
    const mayBeCalled = this.#state !== 'open'
    const decided = (decision: Decision): void => {
      // Redis may still grant it, if the failed call runs after all; nothing is given back then.
      if (mayBeCalled && decision.source === 'local' && !decision.allowed) this.#hasGhosts = true
      this.#decided(request, book, askedMs, decision)
    }
    this.#inTime(this.#limiter[mode](key, { cost }), mode, decided, (error) =>
      this.#must(false, `${mode} rejected: ${error}`),
    )
  }

  /** Earlier requests are forgotten; if the reset fails, nothing is forgotten. */
  reset(key: string): void {
    const before = this.#bookOf(key)
    const isMurky = this.line.pending > 0
    const book: Book = { admissions: [], counted: 0, wasReset: true, isMurky }
    this.#books.set(key, book)
    const { resets } = this.line
    const failed = (error: { readonly code?: string }): void => {
      this.#seen.add('a reset is refused')
      this.#must(error.code === 'WEIR_STORE_FAILED', `reset rejected: ${error}`)
      this.#goOn(key, rootOf(before), book, this.line.resets > resets)
    }
    this.#inTime(this.#limiter.reset(key), 'reset', () => this.#seen.add('reset'), failed)
  }

  /** Redis has had time: all is well again, and it counts what was admitted. */
  async recovered(): Promise<void> {
    const { state, localKeys } = this.#store.health()
    const isWell = state === 'closed' || state === 'never-connected'
    this.#must(isWell, `the breaker is ${state} in the end`)
    this.#must(localKeys === 0, `${localKeys} keys are not settled`)
    for (const [key, book] of this.#books) if (!book.isMurky) await this.#checkCounted(key, book)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    void this.#store.close()
  }

  async #checkCounted(key: string, { admissions, counted, wasReset }: Book): Promise<void> {
    const { inUse, blur } = this.#subject
    const nowMs = this.#nowMs
    const taken = admissions.toSorted((one, other) => one.askedMs - other.askedMs)
    const admitted = sum(taken)
    // Local admissions that are no longer in use need not be counted.
    const local = taken.filter(({ by }) => by === 'local')
    const due = admitted - sum(local) + inUse(local, nowMs)
    this.#must(counted >= due - ROUNDED, `${key}: ${due} admitted, ${counted} counted`)
    if (!this.#hasGhosts) this.#must(counted <= admitted, `${key}: ${counted} for ${admitted}`)
    let decision: Decision | undefined
    void this.#limiter.peek(key).then((peeked) => {
      decision = peeked
    })
    await this.settle()
    this.#must(decision?.source === 'store', `a peek in the end is ${decision?.source}`)
    const remaining = decision?.remaining ?? Number.NaN
    const used = inUse(taken, nowMs)
    const left = Math.max(0, LIMIT - used)
    this.#must(remaining <= left + ROUNDED, `${key}: ${used} in use, ${remaining} remain`)
    if (this.#hasGhosts || wasReset || nowMs >= WINDOW_MS) return
    const mostUsed = inUse(taken, nowMs, Number.POSITIVE_INFINITY)
    const least = Math.max(0, LIMIT - mostUsed) - blur
    this.#must(remaining >= least, `${key}: ${mostUsed} in use, and only ${remaining} remain`)
    if (local.length > 0 && remaining > 0) this.#seen.add('settled to the unit')
  }

  /** Waits for an answer, which must come in time. */
  #inTime<Answer>(
    answer: Promise<Answer>,
    what: string,
    decided: (answer: Answer) => void,
    failed: (error: { readonly code?: string }) => void,
  ): void {
    const askedMs = this.#nowMs
    this.pending += 1
    void answer.then(decided, failed).finally(() => {
      this.pending -= 1
      const tookMs = this.#nowMs - askedMs
      this.#must(tookMs <= DEADLINE_MS + TICK_MS, `${what} took ${tookMs} ms`)
    })
  }

  /** A reset has failed. */
  #goOn(key: string, before: Book, book: Book, wasSent: boolean): void {
    before.admissions.push(...book.admissions)
    before.counted += book.counted
    before.isMurky ||= book.isMurky || wasSent
    book.before = before
    if (this.#books.get(key) === book) this.#books.set(key, before)
  }

  #decided({ key, cost, mode }: Request, asked: Book, askedMs: number, decision: Decision): void {
    const { source, degraded, allowed } = decision
    const book = rootOf(asked)
    if (source !== 'store' && source !== 'local') return
    this.#must((source === 'local') === degraded, `${key}: ${source}, degraded: ${degraded}`)
    if (source === 'local') this.#seen.add(`local while ${this.#state}`)
    // The key may have been reset in between.
    if (!allowed || mode === 'peek' || book !== this.#bookOf(key)) return
    const decidedUs = decision.receipt.result?.nowUs as number
    const atMs = this.#nowMs - (this.world.nowUs - decidedUs) / 1_000
    const admission = { units: cost, askedMs, by: source }
    book.admissions.push(admission)
    if (mode === 'penalty' || book.isMurky) return
    const taken = book.admissions
      .filter((each) => each.askedMs <= atMs)
      .sort((one, other) => one.askedMs - other.askedMs)
    const used = this.#subject.inUse(taken, atMs)
    this.#must(used <= LIMIT + ROUNDED, `${key} at ${atMs}: ${used} admitted, by ${source}`)
  }

  #changed(state: State): void {
    const transition = `${this.#state} -> ${state}`
    this.#must(TRANSITIONS.includes(transition), transition)
    this.#seen.add(transition)
    this.#state = state
    if (state === 'open') this.#openedUs = this.world.nowUs
  }

  #called(mode: string): void {
    // A recovery that has begun is finished.
    this.#must(!this.#isClosed || mode === 'reconcile', `${mode} is sent after the end`)
    const unready = this.line.connection.unready()
    this.#must(unready === undefined, `${mode} is sent, and ${unready}`)
    const { state } = this.#store.health().nodes[0] as { state: string }
    // Calls of the turn in which the breaker opened are on their way; and see above.
    if (state === 'open' && this.#openedUs < this.world.nowUs)
      this.#must(MAY_BE_SENT_WHILE_OPEN.includes(mode), `${mode} is sent while open`)
  }

  #ran(mode: string, key: string, units: number): void {
    // What was admitted before a reset may be counted just before it.
    if (mode === 'reset') this.#bookOf(key).counted = 0
    if (mode !== 'consume' && mode !== 'penalty' && mode !== 'reconcile') return
    this.#bookOf(key).counted += units
  }

  #bookOf(key: string): Book {
    let book = this.#books.get(key)
    if (book === undefined) {
      book = { admissions: [], counted: 0, wasReset: false, isMurky: false }
      this.#books.set(key, book)
    }
    return book
  }

  get #nowMs(): number {
    return this.#host.time.nowMs()
  }

  #must(holds: boolean, what: string): void {
    if (!holds) this.faults.push(what)
  }
}
