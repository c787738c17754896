// Goals as data beside the scenario that measures them, and whether they are met.

import { bestPeer, figure, inThePast, type Metric, multiple, type Table } from './table.js'

export interface Goal {
  /** Its place in the list of goals, which docs/benchmarks.md has. */
  readonly number: number
  /** Id of the table. */
  readonly table: string
  readonly metric: string
  readonly what: string
  /** Who must meet it: every one of them. */
  readonly of: readonly string[]
  /** Judged as a multiple of this subject's figure, of the best peer's, or of each one's own in
   *  Weir 0.1; undefined: the figure itself. */
  readonly per?: string
  /** The other limiter beside which it is to be read; undefined: none was asked for this. */
  readonly peer: string | undefined
  /** What nobody could be below who gives the same answer, or none that says less; undefined:
   *  nothing of the kind is known. */
  readonly floor: string | undefined
  readonly atMost?: number
  readonly atLeast?: number
  /** What passes, too, with a profile that shows where the rest goes. */
  readonly pass?: number
  /** What one hopes for beyond the bound. */
  readonly aim?: number
}

export const BEST_PEER = 'the best peer'
/** Each subject's own row in Weir 0.1. */
const PAST = 'Weir 0.1'

/** Rows of equal code differ by as much. */
const NOISE = 0.05

/** That nothing got worse since Weir 0.1. */
export function noWorse(
  goal: Pick<Goal, 'table' | 'metric' | 'what' | 'of' | 'floor'>,
  better: Metric['better'] = 'less',
): Goal {
  const references = { number: 11, per: PAST, peer: PAST }
  return better === 'less'
    ? { ...goal, ...references, atMost: 1, pass: 1 + NOISE }
    : { ...goal, ...references, atLeast: 1, pass: 1 - NOISE }
}

export type Verdict = 'met' | 'passed' | 'missed'

/** A peer or a floor, in the goal's own measure. */
export interface Reference {
  readonly name: string
  /** One, or one for each of those who must meet the goal. */
  readonly values: readonly number[]
}

export interface Judgement {
  readonly goal: Goal
  /** What the figures were divided by, by name; the best peer is named. */
  readonly per: string | undefined
  readonly values: readonly {
    readonly subject: string
    readonly value: number
    readonly verdict: Verdict
  }[]
  readonly peer: Reference | undefined
  readonly floor: Reference | undefined
  /** Undefined: not measured in this run. */
  readonly verdict: Verdict | undefined
}

export function judge(goal: Goal, tables: readonly Table[]): Judgement {
  const table = tables.find(({ id }) => id === goal.table)
  const metric = table?.metrics.find(({ id }) => id === goal.metric)
  if (table === undefined || metric === undefined) {
    throw new Error(`a goal asks for ${goal.metric} of ${goal.table}, which nothing measures`)
  }
  const best = bestPeer(table, metric)?.subject
  const nameOf = (name: string, of: string): string | undefined =>
    name === BEST_PEER ? best : name === PAST ? inThePast(of) : name
  /** What a subject, or what stands for one, has of what `of` is judged by. */
  const judged = (name: string | undefined, of: string): number | undefined => {
    const subject = name === undefined ? undefined : nameOf(name, of)
    if (subject === undefined) return undefined
    if (goal.per === undefined) return figure(table, subject, metric.id)
    const base = nameOf(goal.per, of)
    return base === undefined ? undefined : multiple(table, subject, base, metric.id)
  }
  const reference = (name: string | undefined): Reference | undefined => {
    const values = new Set<number>()
    for (const subject of goal.of) {
      const value = judged(name, subject)
      if (value !== undefined) values.add(value)
    }
    if (name === undefined || values.size === 0) return undefined
    return { name: name === BEST_PEER && best ? best : name, values: [...values] }
  }
  const values: { subject: string; value: number; verdict: Verdict }[] = []
  for (const subject of goal.of) {
    const value = judged(subject, subject)
    if (value !== undefined) values.push({ subject, value, verdict: verdictOf(goal, value) })
  }
  return {
    goal,
    per: goal.per === BEST_PEER && best ? `${BEST_PEER}, ${best}` : goal.per,
    values,
    peer: reference(goal.peer),
    floor: reference(goal.floor),
    verdict: values.length === goal.of.length ? worst(values) : undefined,
  }
}

function verdictOf({ atMost, atLeast, pass }: Goal, value: number): Verdict {
  const holds = (bound: number): boolean => (atMost === undefined ? value >= bound : value <= bound)
  if (holds((atMost ?? atLeast) as number)) return 'met'
  return pass !== undefined && holds(pass) ? 'passed' : 'missed'
}

function worst(values: readonly { readonly verdict: Verdict }[]): Verdict {
  const verdicts = values.map(({ verdict }) => verdict)
  if (verdicts.includes('missed')) return 'missed'
  return verdicts.includes('passed') ? 'passed' : 'met'
}

/** What a bound is a multiple of, in words. */
export function boundOf({ atMost, atLeast, pass, aim }: Goal): string {
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
  const more = [
    ...(pass === undefined ? [] : [`passes at ${pass}`]),
    ...(aim === undefined ? [] : [`aim ${aim}`]),
  ]
  return more.length === 0 ? bound : `${bound} (${more.join(', ')})`
}

/** How far a metric's ratio may be from what was expected before a reader is told. */
const TOLERANCE = 0.25

/** Whether a peer's ratio is as an earlier measurement found it. */
export function differs(metric: Metric, subject: string, ratio: number): number | undefined {
  const expected = metric.expected?.[subject]
  if (expected === undefined) return undefined
  return Math.abs(ratio / expected - 1) > TOLERANCE ? expected : undefined
}
