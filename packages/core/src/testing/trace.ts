// Golden traces: a policy's answers, call by call, as text that a person can check. The same files
// are replayed on every store and quoted in the docs.
//
// policy tokenBucket capacity=2 refill=2 every=1s     a fresh key under this policy change
// tokenBucket capacity=4 refill=2 every=1s     the same key under other numbers at     call
// allowed  left  retry  reset 0ms    consume 1               yes      1     0ms    500ms 300ms
// refund 1 until 500ms    yes      2     0ms    0ms
//
// `settle 3 of 5` settles a charge of 5 units of which 3 were used.

import { MODE_NAMES, traitsOf } from '../algorithms/modes.js'
import type { Policy } from '../algorithms/policy.js'
import { type Duration, durationMs } from '../base/duration.js'
import { makePolicySet } from '../request.js'
import type { Mode, PolicySet, Store, StoreRequest, StoreResult } from '../store.js'
import { policyFactories } from './algorithms.js'
import type { FakeClock } from './clock.js'

/** One call of a trace, and what it must answer. */
export interface TraceStep {
  readonly line: number
  /** The section of the trace: each `policy` line begins a new one. */
  readonly section: number
  readonly policySet: PolicySet
  readonly atMs: number
  readonly mode: Mode
  readonly cost: number
  readonly charged: number | undefined
  readonly untilMs: number | undefined
  readonly expected: string
}

/**
 * Replays a trace on a store, under keys that begin with `keyPrefix`. Sections about recovery are
 * skipped for a store without `recovers`.
 * @throws {Error} that names the first line whose answer differs, and the columns that differ
 */
export function replayTrace(
  text: string,
  store: Store,
  clock: FakeClock,
  keyPrefix = 'trace',
): Promise<void> {
  return replaySteps(parseTrace(text), store, clock, keyPrefix)
}

/** The steps of the sections in which all steps pass. */
export function sectionsOf(
  steps: readonly TraceStep[],
  passes: (step: TraceStep) => boolean,
): TraceStep[] {
  const without = new Set(steps.filter((step) => !passes(step)).map(({ section }) => section))
  return steps.filter(({ section }) => !without.has(section))
}

export async function replaySteps(
  all: readonly TraceStep[],
  store: Store,
  clock: FakeClock,
  keyPrefix: string,
): Promise<void> {
  const startMs = clock.nowUs() / 1_000
  const knows = ({ mode }: TraceStep) => store.recovers === true || !traitsOf(mode).isForStore
  for (const step of sectionsOf(all, knows)) {
    clock.set(startMs + step.atMs)
    const { policySet, mode, cost } = step
    const untilUs = step.untilMs === undefined ? undefined : [(startMs + step.untilMs) * 1_000]
    const key = `${keyPrefix}-${step.section}`
    const target = { policySet, key }
    // Nothing is lost between the lines of one time.
    const now = mode === 'restore' ? clock.nowUs() : undefined
    const charged = step.charged === undefined ? undefined : [step.charged]
    const when = { untilUs, seenUs: now, lossUs: now, charged }
    const request = { mode, target, costs: [cost], count: 1, ...when } as StoreRequest
    const differences = differencesOf(textOf(await store.decide(request)), step.expected)
    if (differences !== '') {
      const call = `${step.atMs}ms ${mode} ${cost}`
      throw new Error(`line ${step.line} of the trace, ${call}: ${differences}`)
    }
  }
}

const COLUMNS = ['allowed', 'left', 'retry', 'reset']

/** The columns that differ, each with what was expected and what was found; '': none. */
function differencesOf(found: string, expected: string): string {
  const is = found.split(' ')
  const should = expected.split(' ')
  return COLUMNS.map((column, i) => [column, should[i], is[i]])
    .filter(([, one, other]) => one !== other)
    .map(([column, one, other]) => `${column}: expected ${one}, got ${other}`)
    .join('; ')
}

/** The calls of a trace. */
export function parseTrace(text: string): TraceStep[] {
  const steps: TraceStep[] = []
  let section = 0
  let policySet: PolicySet | undefined
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim()
    if (line === '' || line.startsWith('#') || line.startsWith('at ')) return
    const [first, ...rest] = line.split(/\s+/) as [string, ...string[]]
    if (first === 'policy' || first === 'change') {
      if (first === 'policy') section += 1
      policySet = makePolicySet('trace', [policyFrom(rest)])
      return
    }
    if (policySet === undefined)
      throw new Error(`line ${index + 1} of the trace: a call before any policy`)
    steps.push({ line: index + 1, section, policySet, atMs: millis(first), ...callFrom(line) })
  })
  return steps
}

const CALL = new RegExp(
  `^\\S+\\s+(${MODE_NAMES.join('|')}) (\\d+)(?: of (\\d+))?(?: until (\\S+))?\\s+(\\S+\\s+\\S+\\s+\\S+\\s+\\S+)$`,
)

function callFrom(line: string): Omit<TraceStep, 'line' | 'section' | 'policySet' | 'atMs'> {
  const match = CALL.exec(line)
  if (match === null) throw new Error(`not a line of a trace: ${line}`)
  const [, mode, cost, of, until, expected] = match as unknown as [
    string,
    Mode,
    string,
    string | undefined,
    string | undefined,
    string,
  ]
  const charged = of === undefined ? undefined : Number(of)
  const untilMs = until === undefined ? undefined : millis(until)
  const units = Number(cost) - (charged ?? 0)
  return { mode, cost: units, charged, untilMs, expected: expected.split(/\s+/).join(' ') }
}

/** The four columns of a result: allowed, units left, time to wait, time to reset. */
function textOf({ granted, policies }: StoreResult): string {
  return policies
    .map(({ remaining, retryAfterMs, resetAfterMs }) => {
      const wait = retryAfterMs === Number.POSITIVE_INFINITY ? 'never' : `${retryAfterMs}ms`
      return `${granted > 0 ? 'yes' : 'no'} ${remaining} ${wait} ${resetAfterMs}ms`
    })
    .join(' ')
}

function policyFrom([factory, ...options]: string[]): Policy {
  const create = policyFactories[factory ?? '']?.create
  if (create === undefined) throw new Error(`no such policy in a trace: ${factory}`)
  const entries = options.map((option) => {
    const [name, value] = option.split('=') as [string, string]
    if (value === 'true' || value === 'false') return [name, value === 'true']
    if (name === 'block') return [name, value.split(',')]
    return [name, /^[\d.]+$/.test(value) ? Number(value) : value]
  })
  return create({ name: 'trace', ...Object.fromEntries(entries) } as never)
}

/** Reads a time of a trace, which, unlike a duration, may be 0 or negative. */
function millis(text: string): number {
  if (/^0(ms|s|m|h|d)?$/.test(text)) return 0
  return text.startsWith('-')
    ? -durationMs(text.slice(1) as Duration)
    : durationMs(text as Duration)
}
