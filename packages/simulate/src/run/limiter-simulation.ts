// One limiter of a simulation: its keys, its costs and its runs.

import type { Cost, Decision, Key, Policy } from '@weir/core'
import { misuse, misused } from '../errors.js'
import type { Limiter } from '../limiters.js'
import type { LogEntry } from '../log/entry.js'
import type { LimiterReport, RunReport } from '../report.js'
import { callUser } from './call-user.js'
import { Counts, KeyTable } from './key-table.js'
import { LimiterRun } from './limiter-run.js'
import { isSampled } from './shares.js'

interface Options {
  readonly by: (entry: LogEntry) => Key | undefined
  readonly maxKeys: number
  readonly sample: number
  readonly onDecision?:
    | ((decision: Decision, timeUs: number, times: RunReport['times']) => void)
    | undefined
}

/** What a limiter is asked about an entry. A single object, as each line of a log makes one. */
export class Request {
  readonly limiter: LimiterSimulation
  /** The key's number. */
  readonly key: number
  readonly cost: Cost
  readonly priority: string | undefined
  /** What the next limiter is asked. */
  readonly next: Request | undefined

  constructor(
    limiter: LimiterSimulation,
    key: number,
    cost: Cost,
    priority: string | undefined,
    next: Request | undefined,
  ) {
    this.limiter = limiter
    this.key = key
    this.cost = cost
    this.priority = priority
    this.next = next
  }
}

/** In characters: no limiter takes a longer key. A client may have sent one, so it ends no run. */
const LONGEST_KEY = 8_192

/** In place of a key's number: the entry is not decided on. */
const NOBODY = -1

export class LimiterSimulation {
  readonly name: string
  readonly keys: KeyTable
  /** Undefined: a function chooses them. */
  readonly policies: readonly Policy[] | undefined
  /** Requests of each key. */
  readonly requests: Counts = new Counts()
  runs: readonly LimiterRun[] = []
  /** How much later the store's time is than the log's, in us. */
  moveUs = 0
  readonly #limiter: Limiter
  readonly #options: Options
  #count = 0
  #skipped = 0
  #withoutKey = 0
  #withoutCost = 0
  #notSampled = 0

  constructor(limiter: Limiter, options: Options) {
    this.name = limiter.name ?? 'default'
    this.#limiter = limiter
    this.#options = options
    this.keys = new KeyTable(options.maxKeys, `limiter "${this.name}"`)
    this.policies = limiter.uses?.map(({ policy }) => policy)
    // So that wrong policies fail before the log is read.
    new LimiterRun(this.#runOptions('logged')).close()
  }

  #runOptions(times: RunReport['times']) {
    const { maxKeys, sample } = this.#options
    const { keys, requests, moveUs } = this
    return { limiter: this.#limiter, times, keys, requests, maxKeys, sample, moveUs }
  }

  begin(times: readonly RunReport['times'][], moveUs: number): void {
    this.moveUs = moveUs
    this.runs = times.map((each) => new LimiterRun(this.#runOptions(each)))
  }

  /** The key's number; -1: the entry is not decided on. */
  keyOf(entry: LogEntry): number {
    const { skip, key = this.#options.by } = this.#limiter
    if (skip !== undefined && this.#asked('skip', () => skip(entry))) {
      this.#skipped += 1
      return NOBODY
    }
    const of = key === this.#options.by ? key(entry) : this.#asked('key', () => key(entry))
    if (of === undefined || of === null || of === '') {
      this.#withoutKey += 1
      return NOBODY
    }
    const text = this.#keyIn(of)
    if (text.length > LONGEST_KEY) {
      this.#withoutKey += 1
      return NOBODY
    }
    if (!isSampled(text, this.#options.sample)) {
      this.#notSampled += 1
      return NOBODY
    }
    return this.keys.numberOf(text)
  }

  /** @param next what the next limiters are asked; returned alone if this one is asked nothing */
  requestOf(entry: LogEntry, next: Request | undefined): Request | undefined {
    const key = this.keyOf(entry)
    if (key < 0) return next
    const cost = this.costOf(entry)
    if (typeof cost === 'number' && !(Number.isSafeInteger(cost) && cost >= 0)) {
      this.#withoutCost += 1
      return next
    }
    const { priority } = this.#limiter
    const of = priority === undefined ? undefined : this.#asked('priority', () => priority(entry))
    return new Request(this, key, cost, of, next)
  }

  costOf(entry: LogEntry): Cost {
    const { cost } = this.#limiter
    if (cost === undefined) return entry.cost ?? 1
    return this.#asked('cost', () => cost(entry))
  }

  #asked<Answer>(what: string, ask: () => Answer): Answer {
    const whose = `${what}(entry) of limiter "${this.name}"`
    const answer = callUser(whose, ask)
    // A promise that is taken for an answer would skip all entries, or make all keys one.
    if (typeof answer === 'object' && answer !== null && 'then' in answer)
      throw misused('WEIR_NOT_SIMULATED', `${whose} answers with a promise; it must answer at once`)
    return answer
  }

  #keyIn(answer: unknown): string {
    if (typeof answer === 'string') return answer
    if (typeof answer === 'bigint' || Number.isSafeInteger(answer)) return String(answer)
    const right = 'a text, a whole number or undefined'
    const what = `the answer of key(entry) of limiter "${this.name}"`
    throw misuse(what, answer, right, 'WEIR_POLICIES_FAILED')
  }

  /** @param run the index of the run */
  decide(run: number, timeUs: number, { key, cost, priority }: Request): void {
    if (run === 0) {
      this.#count += 1
      this.requests.add(key, 1)
    }
    const of = this.runs[run] as LimiterRun
    const decision = of.decide(timeUs, key, cost, priority)
    this.#options.onDecision?.(decision, timeUs, of.times)
  }

  report(): LimiterReport {
    return {
      limiter: this.name,
      requests: this.#count,
      skipped: this.#skipped,
      withoutKey: this.#withoutKey,
      withoutCost: this.#withoutCost,
      notSampled: this.#notSampled,
      keys: this.keys.count,
      runs: this.runs.map((run) => run.report()),
    }
  }

  close(): void {
    for (const run of this.runs) run.close()
  }
}
