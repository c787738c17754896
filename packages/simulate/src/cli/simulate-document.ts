// What `weir simulate` prints.

import type { ChangedKeys, ComparedLimiter, CompareReport } from '../compare.js'
import type { LogsReport } from '../files/read-logs.js'
import { shown } from '../log/shown.js'
import type {
  LimiterReport,
  OrderReport,
  PolicyReport,
  RunReport,
  SimulationReport,
  TimelineReport,
} from '../report.js'
import type { AffectedKey } from '../run/affected.js'
import type { Block } from './document.js'
import { asCount, asDuration, asPercent, asRange, asShare, asTime } from './numbers.js'
import { bars, overTime } from './plots.js'

/** How the log was read, and why its keys may be wrong. */
export interface Checked {
  readonly log: LogsReport
  readonly doubts: readonly string[]
}

export function simulationDocument(report: SimulationReport & Checked): readonly Block[] {
  return [
    { kind: 'title', text: `weir simulate: ${asCount(report.entries)} requests${spanOf(report)}` },
    ...notesOn(report, report),
    ...report.limiters.flatMap((limiter) => limiterBlocks(limiter, report.sample)),
  ]
}

function spanOf({ firstUs, lastUs }: TimelineReport): string {
  return firstUs === undefined ? '' : `, ${asTime(firstUs)} to ${asTime(lastUs)} UTC`
}

/** Doubts, and notes on how the log was read. */
export function notesOn(
  report: TimelineReport & { readonly sample: number },
  { log, doubts }: Checked,
): readonly Block[] {
  const { outsideRange, outsideYears, isCoarse, order, sample } = report
  const { count, first } = log.broken
  const lines = `${asCount(log.lines)} lines`
  const notes = [
    ...doubts,
    log.format === undefined ? 'The log is empty.' : `Read as ${log.format}, ${lines}.`,
    count === 0 ? '' : `${asCount(count)} lines could not be read; the first are below.`,
    outsideRange === 0 ? '' : `${asCount(outsideRange)} requests are outside of --from and --to.`,
    outsideYears === 0
      ? ''
      : `${asCount(outsideYears)} requests, dated years before or after the others, were left out.`,
    order.wentBack === 0 ? '' : orderNote(order),
    isCoarse ? COARSE : '',
    sample === 1 ? '' : `A sample of 1/${asCount(sample)} of the keys, ${SAMPLED}`,
  ]
  const blocks: Block[] = notes
    .filter((text) => text !== '')
    .map((text) => ({ kind: 'text', text }))
  if (first.length === 0) return blocks
  const rows = first.map(({ log: file, line, why, text }) => [
    file === undefined ? asCount(line) : `${file}:${line}`,
    why,
    text,
  ])
  return [...blocks, { kind: 'table', head: ['line', 'has', 'and begins with'], rows }]
}

const COARSE =
  'The log has whole seconds. It was replayed twice: with all requests of a second at its start, ' +
  'and evenly over it. Where the two differ, both figures are given.'
const SAMPLED =
  'by a hash of the key, with all of their requests. Counts are of the sample only; shares are ± ' +
  'twice their standard error.'

function orderNote({ wentBack, heldBack, furthestMs }: OrderReport): string {
  const far = `at most ${asDuration(furthestMs)}`
  const sorted = `${asCount(heldBack)} requests at a time are sorted`
  const times = wentBack === 1 ? 'once' : `${asCount(wentBack)} times`
  const decided = 'Such requests were decided on at their own times, as if the clock had gone back.'
  const note = `The time went back ${times}, by ${far}, although ${sorted}. ${decided}`
  return furthestMs < SEVERAL_LOGS_MS ? note : `${note} ${SEVERAL_LOGS}`
}

/** No request takes longer: the log is rather several, one after the other. */
const SEVERAL_LOGS_MS = 600_000
const SEVERAL_LOGS =
  'After such a step, keys are refused that production would have let pass. If these are several ' +
  'logs in one stream, give them as files: files are merged by time.'

function limiterBlocks(report: LimiterReport, sample: number): readonly Block[] {
  const { limiter, runs, requests, keys } = report
  const others = leftOut(report)
  const worst = runs.reduce((one, other) => (other.refused > one.refused ? other : one))
  return [
    { kind: 'heading', text: `Limiter ${limiter}` },
    ...(others === '' ? [] : [{ kind: 'text', text: `Not decided on: ${others}.` } as const]),
    {
      kind: 'table',
      head: ['', 'in all', sample === 1 ? 'refused' : 'refused of the sample', 'share'],
      rows: [
        ['requests', asCount(requests), countsOf(runs, 'refused'), sharesOf(runs, 'refusedShare')],
        ['keys', asCount(keys), countsOf(runs, 'affected'), sharesOf(runs, 'affectedShare')],
      ],
    },
    { kind: 'plot', svg: overTime(worst.steps, `Requests over time (UTC), those refused in red`) },
    ...policyBlocks(runs),
    ...(requests === 0 ? [] : affectedBlocks(worst, runs.length > 1)),
  ]
}

type LeftOut = Pick<LimiterReport, 'skipped' | 'withoutKey' | 'withoutCost' | 'notSampled'>

/** Why the limiter did not decide on requests. Empty: it decided on all. */
export function leftOut({ skipped, withoutKey, withoutCost, notSampled }: LeftOut): string {
  const left = [
    [skipped, 'skipped'],
    [withoutKey, 'without a key, or with a longer one than limiters take'],
    [withoutCost, 'without a cost that is a whole number'],
    [notSampled, 'with keys outside the sample'],
  ] as const
  return left
    .filter(([count]) => count > 0)
    .map(([count, why]) => `${asCount(count)} ${why}`)
    .join(', ')
}

function countsOf(runs: readonly RunReport[], what: 'refused' | 'affected'): string {
  return asRange(
    runs.map((run) => run[what]),
    asCount,
  )
}

function sharesOf(runs: readonly RunReport[], what: 'refusedShare' | 'affectedShare'): string {
  return [...new Set(runs.map((run) => asShare(run[what])))].join(' to ')
}

function policyBlocks(runs: readonly RunReport[]): readonly Block[] {
  const names = [...new Set(runs.flatMap(({ policies }) => policies.map(({ policy }) => policy)))]
  if (names.length === 0) return []
  const rows = names.map((name) => {
    const all = runs.flatMap(({ policies }) => policies.filter(({ policy }) => policy === name))
    const [{ limit }] = all as [PolicyReport]
    const most = all.flatMap(({ mostInWindow }) =>
      mostInWindow === undefined ? [] : [mostInWindow],
    )
    const [first] = most
    const isLess = most.some(({ keysLeftOut }) => keysLeftOut > 0)
    return [
      name,
      asCount(limit),
      asRange(
        all.map(({ units }) => units),
        asCount,
      ),
      asRange(
        all.map(({ refusals }) => refusals),
        asCount,
      ),
      asRange(
        all.map(({ shareOfRefusals }) => shareOfRefusals),
        (share) => `${asPercent(share)} %`,
      ),
      most.length === 0
        ? '-'
        : `${isLess ? 'at least ' : ''}${asRange(
            most.map(({ units }) => units),
            asCount,
          )}`,
      first === undefined ? '-' : asCount(first.bound),
      first === undefined ? '-' : boundOf(first),
    ]
  })
  const head = [
    'policy',
    'limit',
    'units passed',
    'refusals',
    'of all',
    'most in a window',
    'bound',
    'which holds',
  ]
  return [{ kind: 'table', head, rows }]
}

function boundOf({ says, windowMs }: NonNullable<PolicyReport['mostInWindow']>): string {
  return windowMs === undefined ? says : `${says} (${asDuration(windowMs)})`
}

function affectedBlocks({ mostAffected, times }: RunReport, isOfTwo: boolean): readonly Block[] {
  if (mostAffected.length === 0)
    return [{ kind: 'text', text: 'No request would have been refused.' }]
  const how = times === 'start' ? 'all of a second at its start' : 'spread evenly over each second'
  const head = [
    'key',
    'requests',
    'refused',
    'first refused (UTC)',
    'last refused (UTC)',
    'refused for',
  ]
  const svg = bars(
    mostAffected.map(({ key, refused }) => ({ label: key, value: refused })),
    'Most affected keys, by refused requests',
  )
  const text = `The most affected keys${isOfTwo ? `, with requests ${how}` : ''}. ${REFUSED_FOR}:`
  return [
    { kind: 'text', text },
    { kind: 'table', head, rows: mostAffected.map(affectedRow) },
    { kind: 'plot', svg },
  ]
}

const REFUSED_FOR =
  'Each counts as refused until one of its requests passes, or the wait of its last refusal is over'

function affectedRow(affected: AffectedKey): readonly string[] {
  const { key, requests, refused, firstRefusedUs, lastRefusedUs, refusedMs } = affected
  const times = [asTime(firstRefusedUs), asTime(lastRefusedUs)]
  return [shown(key, 60), asCount(requests), asCount(refused), ...times, asDuration(refusedMs)]
}

export function comparisonDocument(report: CompareReport & Checked): readonly Block[] {
  const { before, after, limiters, onlyBefore, onlyAfter } = report
  const alone = (names: readonly string[], where: string): Block[] =>
    names.length === 0
      ? []
      : [{ kind: 'text', text: `Only in the ${where} file: ${names.join(', ')}.` }]
  return [
    {
      kind: 'title',
      text: `weir simulate: what changes for ${asCount(after.entries)} requests${spanOf(after)}`,
    },
    ...notesOn(before, report),
    ...alone(onlyBefore, 'old'),
    ...alone(onlyAfter, 'new'),
    ...leftOutBlocks(before, 'old'),
    ...leftOutBlocks(after, 'new'),
    ...limiters.flatMap((limiter) => comparedBlocks(limiter)),
  ]
}

/** What limiters of a file left out: a mistyped key leaves out all, and refuses nobody. */
function leftOutBlocks({ limiters }: SimulationReport, file: string): readonly Block[] {
  return limiters.flatMap((report) => {
    const others = leftOut(report)
    const text = `Not decided on by limiter ${report.limiter} of the ${file} file: ${others}.`
    return others === '' ? [] : [{ kind: 'text', text }]
  })
}

const TIMES = {
  logged: '',
  start: ', all requests of a second at its start',
  spread: ', evenly over each second',
}

function comparedBlocks(report: ComparedLimiter): readonly Block[] {
  const { limiter, times, refused, affected, newlyAffected, noLongerAffected } = report
  return [
    { kind: 'heading', text: `Limiter ${limiter}${TIMES[times]}` },
    {
      kind: 'table',
      head: ['', 'before', 'after', 'newly refused', 'no longer refused'],
      rows: [
        ['requests refused', asCount(refused.before), asCount(refused.after), '', ''],
        [
          'keys affected',
          asCount(affected.before),
          asCount(affected.after),
          asCount(newlyAffected.count),
          asCount(noLongerAffected.count),
        ],
      ],
    },
    ...changedBlocks('Newly refused keys', newlyAffected),
    ...changedBlocks('Keys that are no longer refused', noLongerAffected),
  ]
}

function changedBlocks(text: string, { count, most }: ChangedKeys): readonly Block[] {
  if (count === 0) return []
  const rows = most.map(({ key, refused }) => [shown(key, 60), asCount(refused)])
  return [
    {
      kind: 'text',
      text: `${text}${count > most.length ? `, the ${most.length} most refused` : ''}:`,
    },
    { kind: 'table', head: ['key', 'refused'], rows },
  ]
}
