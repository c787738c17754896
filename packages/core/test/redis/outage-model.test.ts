// The whole Redis store against a model of its outages, under random requests, faults and waits,
// with injected time:
//
//   closed, half-open --requests fail--> open --a probe is answered--> half-open --5 s--> closed
//
// Redis is a real one. What misbehaves is the connection to it, which the test puts between the
// store and a client.
//
// The bound, of one process whose Redis keeps its data: the limit, whoever decides. A request
// belongs to the instant at which it was asked, or to a later one up to its decision. Redis is told
// what was admitted locally under a key before it is asked after that key again, and what is
// decided locally begins with what was last seen of the key. A penalty may always go beyond the
// limit, and counts from then on.

import { EventEmitter } from 'node:events'
import { type RedisServer, startRedis } from '@weir/testkit'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type Decision,
  fixedWindow,
  type Policy,
  RateLimiter,
  type RedisLike,
  type RedisStore,
  redisStore,
  slidingLog,
} from '../../src/index.js'
import { unpackNumbers } from '../../src/redis/transport/msgpack.js'
import { patientClient } from './patient.js'

const DEADLINE_MS = 100
const WINDOW_MS = 60_000
const LIMIT = 10
/**
 * The same walks each time, so that what they find is due to a change. `WEIR_RUNS=30000` makes so
 * many new ones (4 min).
 */
const WALKS = process.env.WEIR_RUNS
  ? { numRuns: Number(process.env.WEIR_RUNS) }
  : { numRuns: 400, seed: 1 }
/**
 * A walk goes on as soon as nothing is to be done but by a timer, which on a busy machine takes its
 * time to be known.
 */
const TIMEOUT_MS = 60_000 + 500 * WALKS.numRuns
const START_MS = Date.UTC(2026, 0, 1)
const KEYS = ['a', 'b'] as const
/** A wait for a probe, the time of the return, and some calls; with room to spare. */
const RECOVERY_MS = 8_000
const CLOSING_MS = 1_000

let server: RedisServer
let real: Redis
beforeAll(async () => {
  server = await startRedis()
  real = await patientClient(server.port)
})
afterAll(async () => {
  real.disconnect()
  await server.stop()
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

// --- a connection that misbehaves

/**
 * - `hang`: calls are not sent before the fault is over, and then they are, however late
 * - `mute`: calls are sent, and no reply comes before the fault is over
 * - `slow`: calls are sent, and a reply takes SLOW_MS
 * - `refuse`: the connection is lost, with all that is under way, and calls fail at once
 * - `not ready`: the connection is lost, and the client says so
 */
type Fault = 'none' | 'hang' | 'mute' | 'slow' | 'refuse' | 'not ready'

/** Two in a row are later than the deadline, one is not. */
const SLOW_MS = 60

/** What a call asks of one key, and what it was granted. */
interface Part {
  readonly key: string
  readonly units: number
}

interface Call {
  readonly mode: string
  readonly parts: readonly Part[]
  readonly run: () => Promise<unknown>
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
  readonly startedMs: number
  sent: boolean
  held: boolean
  deliver: (() => void) | undefined
}

interface Watcher {
  /** The store made a call. */
  called(mode: string): void
  /** Redis ran a call, and took so many units of a key for it. */
  ran(mode: string, key: string, units: number): void
  /** The reply of a call that was sent comes after the deadline, or never. */
  missed(mode: string, how: 'late' | 'lost'): void
}

/**
 * A client as the store sees it. Replies come in the order of the calls, as they do on a
 * connection.
 */
class Wire extends EventEmitter implements RedisLike {
  readonly options: object = real.options
  readonly #watcher: Watcher
  readonly #calls: Call[] = []
  #fault: Fault = 'none'
  #running = 0
  /** How many were asked for. */
  resets = 0

  constructor(watcher: Watcher) {
    super()
    this.#watcher = watcher
  }

  get status(): string {
    return this.#fault === 'not ready' ? 'reconnecting' : 'ready'
  }

  /** Whether Redis is at work for us. */
  get busy(): boolean {
    return this.#running > 0
  }

  /** Calls that have no reply yet. */
  get pending(): number {
    return this.#calls.length
  }

  callBuffer(command: string, args: string[]): Promise<unknown> {
    const { mode, parts } = readCall(args)
    this.#watcher.called(mode)
    if (mode === 'reset') this.resets += 1
    if (this.#fault === 'refuse' || this.#fault === 'not ready')
      return Promise.reject(connectionLost())
    return new Promise((resolve, reject) => {
      const held = this.#fault === 'slow'
      const run = () => real.callBuffer(command, args)
      const startedMs = performance.now()
      const call: Call = {
        mode,
        parts,
        run,
        resolve,
        reject,
        startedMs,
        sent: false,
        held,
        deliver: undefined,
      }
      this.#calls.push(call)
      if (held) {
        setTimeout(() => {
          call.held = false
          this.#move()
        }, SLOW_MS)
      }
      this.#move()
    })
  }

  set(fault: Fault): void {
    this.#fault = fault
    if (fault === 'refuse' || fault === 'not ready') {
      for (const { mode, sent, reject } of this.#calls.splice(0)) {
        if (sent) this.#watcher.missed(mode, 'lost')
        reject(connectionLost())
      }
    }
    this.#move()
  }

  #move(): void {
    for (const call of this.#calls) {
      if (call.sent || this.#fault === 'hang') continue
      call.sent = true
      void this.#send(call)
    }
    while (
      this.#fault !== 'mute' &&
      this.#calls[0]?.held === false &&
      this.#calls[0].deliver !== undefined
    ) {
      const { mode, startedMs, deliver } = this.#calls.shift() as Call
      if (performance.now() - startedMs >= DEADLINE_MS) this.#watcher.missed(mode, 'late')
      deliver?.()
    }
  }

  async #send(call: Call): Promise<void> {
    this.#running += 1
    try {
      const reply = await call.run()
      const granted = grantsOf(reply, call.parts.length)
      for (const [i, { key, units }] of call.parts.entries()) {
        this.#watcher.ran(call.mode, key, units * (granted[i] ?? 0))
      }
      call.deliver = () => call.resolve(reply)
    } catch (error) {
      call.deliver = () => call.reject(error)
    }
    this.#running -= 1
    this.#move()
  }
}

function connectionLost(): Error {
  return new Error('Connection is closed.')
}

/** What a call of the driver for one policy asks for. Units are those of one grant. */
function readCall(args: readonly string[]): { mode: string; parts: Part[] } {
  const keyCount = Number(args[1])
  const keys = args.slice(2, 2 + keyCount)
  const [, , , , mode = 'consume', ...rest] = args.slice(2 + keyCount)
  if (keys.some((name) => name.includes(':weir:probe:'))) return { mode: 'probe', parts: [] }
  const marked = mode === 'refund' || mode === 'restore' || mode === 'reset'
  const names = marked ? keys.filter((_, i) => i % 2 === 0) : keys
  const width = rest.length / names.length
  const parts = names.map((name, i) => ({
    key: /\{(.*)\}/.exec(name)?.[1] as string,
    // Of plain requests there are no costs.
    units: width > 1 ? Number(rest[i * width + 1]) : 1,
  }))
  return { mode, parts }
}

function grantsOf(reply: unknown, parts: number): number[] {
  const numbers = unpackNumbers(reply as Buffer)
  return Array.from({ length: parts }, (_, i) => numbers[1 + 4 * i] as number)
}

// --- the model

interface Admission {
  readonly units: number
  readonly askedMs: number
  readonly by: 'store' | 'local'
}

/** What was let through under a key since it was last reset. */
interface Book {
  readonly admissions: Admission[]
  /** All that Redis has counted, be it asked by users or settled. */
  counted: number
  readonly wasReset: boolean
  /** Calls were on their way when it was reset: what they counted before it is taken for a part of
   *  what came after. Or a reset was sent, and nobody knows whether Redis has made it. */
  isMurky: boolean
  /** The reset that began this book failed, so that one goes on. */
  before?: Book | undefined
}

interface Request {
  readonly key: (typeof KEYS)[number]
  readonly cost: number
  readonly mode: 'consume' | 'penalty' | 'peek'
}

interface Outage {
  readonly policy: Policy
  /** Whether what was asked at one instant weighs at another one. */
  readonly weighs: (askedMs: number, atMs: number) => boolean
}

const clock = { nowUs: () => Math.floor((START_MS + performance.now()) * 1_000) }

const TRANSITIONS = [
  'closed -> open',
  'open -> half-open',
  'half-open -> closed',
  'half-open -> open',
]

/** What the random steps must have come by. */
const EXPECTED = [
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

/**
 * The store, what was done to it, and what it must have done. What must not be is noted down, and
 * thrown by `check`.
 */
class Run {
  readonly wire: Wire
  readonly store: RedisStore
  readonly #limiter: RateLimiter
  readonly #outage: Outage
  readonly #seen: Set<string>
  readonly #faults: string[] = []
  readonly #books: Map<string, Book> = new Map()
  #hasJustOpened = false
  #state: 'closed' | 'open' | 'half-open' = 'closed'
  #pending = 0
  #isClosed = false
  /** A reply came too late or not at all, so that Redis may count more than was admitted. */
  #ghosts = false

  constructor(outage: Outage, seen: Set<string>) {
    this.#outage = outage
    this.#seen = seen
    this.wire = new Wire({
      called: (mode) => this.#called(mode),
      ran: (mode, key, units) => this.#ran(mode, key, units),
      missed: (mode, how) => {
        if (how === 'lost') this.#ghosts = true
        this.#seen.add(`the reply to a ${mode} is ${how}`)
      },
    })
    this.store = redisStore(this.wire, {
      clock,
      deadlineMs: DEADLINE_MS,
      instances: { count: 1, rank: 0 },
    })
    this.store.on('breaker', ({ state }) => this.#changed(state))
    this.#limiter = new RateLimiter({ name: 'outage', store: this.store, policy: outage.policy })
  }

  /** What the store says of itself is what it told. */
  compare(): void {
    const { state } = this.store.health().nodes[0] as { state: string }
    this.#must(state === this.#state, `${state} after an event of ${this.#state}`)
  }

  /** Throws what must not be. */
  check(): void {
    expect(this.#faults).toEqual([])
  }

  ask(request: Request): void {
    const { key, cost, mode } = request
    const askedMs = performance.now()
    const book = this.#bookOf(key)
    const mayBeCalled = this.#state !== 'open'
    this.#pending += 1
    const call = mode === 'penalty' ? 'penalty' : mode
    this.#limiter[call](key, { cost })
      .then(
        (decision) => {
          // Redis may grant it yet, when the call that failed is run after all; and it gives
          // nothing back.
          if (mayBeCalled && decision.source === 'local' && !decision.allowed) this.#ghosts = true
          this.#decided(request, book, askedMs, decision)
        },
        (error) => this.#must(false, `${mode} rejected: ${error}`),
      )
      .finally(() => {
        this.#pending -= 1
        const tookMs = performance.now() - askedMs
        this.#must(tookMs <= DEADLINE_MS, `${mode} took ${tookMs} ms`)
      })
  }

  /** What was asked before belongs to what is forgotten; if it fails, nothing is forgotten. */
  reset(key: string): void {
    const startedMs = performance.now()
    const before = this.#bookOf(key)
    const isMurky = this.wire.pending > 0
    const book: Book = { admissions: [], counted: 0, wasReset: true, isMurky }
    this.#books.set(key, book)
    this.#pending += 1
    const { resets } = this.wire
    this.#limiter
      .reset(key)
      .then(
        () => this.#seen.add('reset'),
        (error) => {
          this.#seen.add('a reset is refused')
          this.#must(error.code === 'WEIR_STORE_FAILED', `reset rejected: ${error}`)
          this.#goOn(key, rootOf(before), book, this.wire.resets > resets)
        },
      )
      .finally(() => {
        this.#pending -= 1
        const tookMs = performance.now() - startedMs
        this.#must(tookMs <= DEADLINE_MS, `reset took ${tookMs} ms`)
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

  /** Redis has had its time: all is well again, and it counts what was admitted. */
  async recovered(): Promise<void> {
    const { state, localKeys } = this.store.health()
    this.#must(
      state === 'closed' || state === 'never-connected',
      `the breaker is ${state} in the end`,
    )
    this.#must(localKeys === 0, `${localKeys} keys are not settled`)
    for (const [key, book] of this.#books) {
      if (book.isMurky) continue
      const { admissions } = book
      const nowMs = performance.now()
      const admitted = sum(admissions)
      const used = sum(admissions.filter(({ askedMs }) => this.#outage.weighs(askedMs, nowMs)))
      // What was admitted locally and no longer weighs need not be counted.
      const isOver = ({ by, askedMs }: Admission): boolean =>
        by === 'local' && !this.#outage.weighs(askedMs, nowMs)
      const least = admitted - sum(admissions.filter(isOver))
      this.#must(book.counted >= least, `${key}: ${least} admitted, ${book.counted} counted`)
      if (!this.#ghosts)
        this.#must(book.counted <= admitted, `${key}: ${book.counted} for ${admitted}`)
      const { remaining, source } = await this.#settledPeek(key)
      this.#must(source === 'store', `a peek in the end is ${source}`)
      const left = Math.max(0, LIMIT - used)
      this.#must(remaining <= left, `${key}: ${used} in use, ${remaining} remain`)
      const isExact = !this.#ghosts && !book.wasReset && nowMs < WINDOW_MS
      if (!isExact) continue
      this.#must(remaining === left, `${key}: ${used} in use, and only ${remaining} remain`)
      if (admissions.some(({ by }) => by === 'local') && remaining > 0)
        this.#seen.add('settled to the unit')
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.store.close()
  }

  get pending(): number {
    return this.#pending
  }

  async #settledPeek(key: string): Promise<Decision> {
    const peek = this.#limiter.peek(key)
    await quiet(this.wire)
    return peek
  }

  #decided({ key, cost, mode }: Request, asked: Book, askedMs: number, decision: Decision): void {
    const { source, degraded, allowed } = decision
    const book = rootOf(asked)
    if (source !== 'store' && source !== 'local') return
    this.#must((source === 'local') === degraded, `${key}: ${source}, degraded: ${degraded}`)
    if (source === 'local') this.#seen.add(`local while ${this.#state}`)
    // A reset may have come between.
    if (!allowed || mode === 'peek' || book !== this.#bookOf(key)) return
    const atMs = (decision.receipt.result?.nowUs as number) / 1_000 - START_MS
    const admission = { units: cost, askedMs, by: source }
    book.admissions.push(admission)
    if (mode === 'penalty' || book.isMurky) return
    const live = book.admissions.filter((each) => {
      return each === admission || (each.askedMs <= atMs && this.#outage.weighs(each.askedMs, atMs))
    })
    this.#must(sum(live) <= LIMIT, `${key} at ${atMs}: ${sum(live)} admitted, by ${source}`)
  }

  #changed(state: 'closed' | 'open' | 'half-open'): void {
    const transition = `${this.#state} -> ${state}`
    this.#must(TRANSITIONS.includes(transition), transition)
    this.#seen.add(transition)
    this.#state = state
    if (state === 'open') {
      this.#hasJustOpened = true
      setImmediate(() => {
        this.#hasJustOpened = false
      })
    }
  }

  #called(mode: string): void {
    // What was begun to be settled is settled.
    this.#must(!this.#isClosed || mode === 'reconcile', `${mode} is sent after the end`)
    this.#must(this.wire.status === 'ready', `${mode} is sent on a connection that is not ready`)
    const { state } = this.store.health().nodes[0] as { state: string }
    // What was begun to be settled is settled.
    // What was asked for in the very turn in which it opened is on its way.
    if (state === 'open' && !this.#hasJustOpened)
      this.#must(mode === 'probe' || mode === 'reconcile', `${mode} is sent while open`)
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

  #must(holds: boolean, what: string): void {
    if (!holds) this.#faults.push(what)
  }
}

function rootOf(book: Book): Book {
  return book.before === undefined ? book : rootOf(book.before)
}

function sum(admissions: readonly { readonly units: number }[]): number {
  return admissions.reduce((total, { units }) => total + units, 0)
}

// --- what is done to it

/** Until nothing is to be done but by a timer. */
async function quiet(wire: Wire): Promise<void> {
  for (let idle = 0; idle < 6; idle += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    if (wire.busy) idle = -1
  }
}

/** Lets time pass, from one timer to the next, each with all that follows from it. */
async function pass(wire: Wire, ms: number): Promise<void> {
  let passed = false
  setTimeout(() => {
    passed = true
  }, ms)
  await quiet(wire)
  while (!passed) {
    vi.advanceTimersToNextTimer()
    await quiet(wire)
  }
}

type Step =
  | {
      readonly do: 'ask'
      readonly at: 'once' | 'one by one'
      readonly requests: readonly Request[]
    }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'reset'; readonly key: (typeof KEYS)[number] }

const request: fc.Arbitrary<Request> = fc.record({
  key: fc.constantFrom(...KEYS),
  cost: fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 4 }) },
  ),
  mode: fc.oneof(
    { weight: 10, arbitrary: fc.constant('consume' as const) },
    { weight: 1, arbitrary: fc.constant('penalty' as const) },
    { weight: 1, arbitrary: fc.constant('peek' as const) },
  ),
})

function asked(
  at: fc.Arbitrary<'once' | 'one by one'>,
  minLength: number,
  maxLength: number,
): fc.Arbitrary<Step> {
  return fc.record({
    do: fc.constant('ask' as const),
    at,
    requests: fc.array(request, { minLength, maxLength }),
  })
}

function waited(min: number, max: number): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min, max }) })
}

function faulty(...faults: Fault[]): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom(...faults) })
}

const either = fc.constantFrom('once' as const, 'one by one' as const)
const several = asked(either, 1, 6)

/** Anything after anything. */
const anyStep: fc.Arbitrary<Step[]> = fc
  .oneof(
    { weight: 8, arbitrary: several },
    { weight: 3, arbitrary: waited(1, 40) },
    { weight: 3, arbitrary: waited(DEADLINE_MS, DEADLINE_MS) },
    { weight: 3, arbitrary: waited(41, 1_200) },
    { weight: 1, arbitrary: waited(WINDOW_MS, WINDOW_MS) },
    {
      weight: 5,
      arbitrary: faulty('none', 'none', 'none', 'hang', 'mute', 'slow', 'refuse', 'not ready'),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('reset' as const), key: fc.constantFrom(...KEYS) }),
    },
  )
  .map((one) => [one])

/**
 * Long enough for the breaker to open; then something happens while it is open, and while it is
 * half-open.
 */
const wholeOutage: fc.Arbitrary<Step[]> = fc.tuple(
  faulty('hang', 'mute', 'refuse', 'not ready'),
  asked(fc.constant('one by one'), 5, 7),
  waited(DEADLINE_MS, DEADLINE_MS),
  several,
  faulty('none', 'slow', 'slow'),
  waited(50, 700),
  several,
  faulty('none', 'slow', 'mute', 'not ready'),
  waited(1, 80),
  several,
)

const someSteps: fc.Arbitrary<Step[]> = fc
  .array(fc.oneof({ weight: 5, arbitrary: anyStep }, { weight: 1, arbitrary: wholeOutage }), {
    minLength: 1,
    maxLength: 24,
  })
  .map((parts) => parts.flat())

function consume(key: Request['key'], cost: number): Request {
  return { key, cost, mode: 'consume' }
}

async function take(run: Run, one: Step): Promise<void> {
  const { wire } = run
  if (one.do === 'wait') await pass(wire, one.ms)
  else if (one.do === 'fault') wire.set(one.fault)
  else if (one.do === 'reset') run.reset(one.key)
  else {
    for (const request of one.requests) {
      run.ask(request)
      if (one.at === 'one by one') await quiet(wire)
    }
  }
  await quiet(wire)
  run.compare()
  run.check()
}

type Ending = 'in peace' | 'in the middle'

async function outage(
  what: Outage,
  steps: readonly Step[],
  ending: Ending,
  chance: number,
  seen: Set<string>,
): Promise<void> {
  await real.flushall()
  injectTime()
  vi.spyOn(Math, 'random').mockReturnValue(chance)
  // An outage of ten seconds is warned of.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  try {
    const run = new Run(what, seen)
    for (const one of steps) await take(run, one)
    if (ending === 'in peace') {
      run.wire.set('none')
      await pass(run.wire, RECOVERY_MS)
      await run.recovered()
    }
    await run.close()
    run.wire.set('none')
    // The documentation promises no more than within a second.
    await pass(run.wire, CLOSING_MS)
    run.check()
    expect([run.pending, run.wire.pending, vi.getTimerCount(), run.wire.eventNames()]).toEqual([
      0,
      0,
      0,
      [],
    ])
  } finally {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
}

/** Sockets and immediates stay as they are, so that Redis answers. */
function injectTime(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
  })
}

/**
 * The plain course of an outage. It leaves Redis with the scripts that all runs use, so that runs
 * can be repeated.
 */
const PLAIN: Step[] = [
  { do: 'fault', fault: 'refuse' },
  { do: 'ask', at: 'one by one', requests: Array(5).fill(consume('a', 1)) },
]

interface Turn {
  /** Redis loses all that it has, before anything is asked. */
  readonly forgets: boolean
  readonly waitMs: number
  readonly requests: readonly Request[]
}

interface Units {
  readonly units: number
  readonly askedMs: number
  /** It was in flight when a loss showed. */
  readonly isExtra: boolean
}

/** What was in use shortly before its end is not told again: clocks differ. */
const MARGIN_MS = 50

/**
 * Redis loses its data, and the connection is well. The bound: the limit, and what was in flight
 * when each loss showed.
 */
async function forgetful(
  { policy, weighs }: Outage,
  turns: readonly Turn[],
  seen: Set<string>,
): Promise<void> {
  await real.flushall()
  injectTime()
  try {
    const wire = new Wire({ called() {}, ran() {}, missed() {} })
    const store = redisStore(wire, { clock, instances: 1 })
    store.on('data-loss', () => seen.add('data-loss'))
    const limiter = new RateLimiter({ name: 'forgetful', store, policy })
    const admitted = KEYS.map((key) => ({ key, units: [] as Units[], isLost: false }))
    for (const { forgets, waitMs, requests } of turns) {
      await pass(wire, waitMs)
      if (forgets) {
        await real.flushall()
        for (const each of admitted) each.isLost = true
      }
      const askedMs = performance.now()
      const asked = requests.map(({ key, cost, mode }) => {
        return mode === 'peek' ? limiter.peek(key, { cost }) : limiter.consume(key, { cost })
      })
      await quiet(wire)
      const decisions = await Promise.all(asked)
      for (const each of admitted) {
        const { key, units, isLost } = each
        for (const [i, { key: whose, cost, mode }] of requests.entries()) {
          if (whose !== key || mode === 'peek' || decisions[i]?.allowed !== true) continue
          // All that is asked in one turn is in flight when the first answer shows the loss.
          units.push({ units: cost, askedMs, isExtra: isLost })
          each.isLost = false
          const live = units.filter((each) => weighs(each.askedMs, askedMs + MARGIN_MS))
          expect(sum(live.filter(({ isExtra }) => !isExtra))).toBeLessThanOrEqual(LIMIT)
          if (sum(live) > LIMIT) seen.add('over the limit')
        }
      }
    }
    await store.close()
  } finally {
    vi.useRealTimers()
  }
}

const OUTAGES: Outage[] = [
  {
    policy: slidingLog({ limit: LIMIT, window: WINDOW_MS }),
    weighs: (askedMs, atMs) => askedMs > atMs - WINDOW_MS,
  },
  {
    policy: fixedWindow({ limit: LIMIT, window: WINDOW_MS, aligned: true }),
    weighs: (askedMs, atMs) => Math.floor(askedMs / WINDOW_MS) === Math.floor(atMs / WINDOW_MS),
  },
]

describe.each(OUTAGES)('an outage, with a $policy.algorithm', (what) => {
  test('is bridged within the bound, and settled', { timeout: TIMEOUT_MS }, async () => {
    const seen = new Set<string>()
    await outage(what, PLAIN, 'in peace', 0, seen)
    const ending = fc.oneof(
      { weight: 9, arbitrary: fc.constant('in peace' as const) },
      { weight: 1, arbitrary: fc.constant('in the middle' as const) },
    )
    const chance = fc.double({ min: 0, max: 0.99, noNaN: true })
    await fc.assert(
      fc.asyncProperty(someSteps, ending, chance, (...all) => outage(what, ...all, seen)),
      WALKS,
    )
    expect(EXPECTED.filter((each) => !seen.has(each))).toEqual([])
  })

  test('gave a new budget when it was the second one in a window', async () => {
    const steps: Step[] = [...PLAIN, { do: 'fault', fault: 'none' }, { do: 'wait', ms: 1_000 }]
    steps.push({ do: 'ask', at: 'once', requests: [consume('a', 4), consume('a', 1)] })
    steps.push(
      { do: 'fault', fault: 'refuse' },
      { do: 'ask', at: 'once', requests: [consume('a', 4)] },
    )
    await outage(what, steps, 'in peace', 0, new Set())
  })

  test('of the data lets through the limit and what was in flight', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const seen = new Set<string>()
    const turns = fc.array(
      fc.record({
        forgets: fc.oneof(
          { weight: 4, arbitrary: fc.constant(false) },
          { weight: 1, arbitrary: fc.constant(true) },
        ),
        waitMs: fc.oneof(
          { weight: 5, arbitrary: fc.integer({ min: 1, max: 2_000 }) },
          { weight: 1, arbitrary: fc.constant(WINDOW_MS) },
        ),
        requests: fc.oneof(
          { weight: 3, arbitrary: fc.array(request, { minLength: 1, maxLength: 4 }) },
          { weight: 1, arbitrary: fc.array(request, { minLength: 5, maxLength: 2 * LIMIT }) },
        ),
      }),
      { minLength: 1, maxLength: 24 },
    )
    await fc.assert(
      fc.asyncProperty(turns, (some) => forgetful(what, some, seen)),
      WALKS,
    )
    expect([...seen].sort()).toEqual(['data-loss', 'over the limit'])
  })
})
