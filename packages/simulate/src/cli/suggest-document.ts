// What `weir suggest` prints.

import { shown } from '../log/shown.js'
import { withMargin } from '../suggest/advice.js'
import type {
  Advice,
  CurvePoint,
  Plateau,
  SuggestionReport,
  WindowSuggestion,
} from '../suggestion.js'
import type { Block, Row } from './document.js'
import { asCount, asDuration, asPercent, asRange, asShare, asTime } from './numbers.js'
import { curve } from './plots.js'
import { type Checked, leftOut, notesOn } from './simulate-document.js'

export function suggestionDocument(report: SuggestionReport & Checked): readonly Block[] {
  const { affect, of, algorithm, requests, keys, firstUs, lastUs, windows, advice } = report
  const isAdvised = advice !== undefined && requests > 0 && report.doubts.length === 0
  const what = of === 'keys' ? `keys of ${asCount(keys)}` : `requests of ${asCount(requests)}`
  const span = firstUs === undefined ? '' : `, ${asTime(firstUs)} to ${asTime(lastUs)} UTC`
  const others = leftOut({ ...report, notSampled: 0 })
  const head: readonly Block[] = [
    {
      kind: 'title',
      text: `weir suggest: ${algorithm}, at most ${asPercent(affect)} % of ${what} refused${span}`,
    },
    ...(isAdvised ? [{ kind: 'text', text: adviceText(advice, report) } as const] : []),
    ...notesOn(report, report),
    ...(others === '' ? [] : [{ kind: 'text', text: `Left out: ${others}.` } as const]),
  ]
  if (requests === 0) return head
  const byWindow = grouped(windows)
  return [
    ...head,
    {
      kind: 'table',
      head: [
        'window',
        'smallest limit',
        'keys refused',
        'share of keys',
        ...(of === 'keys' ? [] : ['requests refused', 'share']),
      ],
      rows: byWindow.map((runs) => limitRow(runs, of)),
    },
    { kind: 'text', text: 'In the tables that follow, < marks this smallest limit.' },
    ...byWindow.flatMap((runs) => curveBlocks(runs, report)),
  ]
}

/** The first line says what to set. */
function adviceText(
  { windowMs, needed, limit, abusers, fewer }: Advice,
  { affect, of, sample }: Pick<SuggestionReport, 'affect' | 'of' | 'sample'>,
): string {
  const set = `${asCount(limit)} in ${asDuration(windowMs)}`
  const share = affect === 0 ? 'no' : `at most ${asPercent(affect)} % of the`
  const why = `${asCount(needed)} is the smallest limit that refuses ${share} ${of} of this log, and the next will differ.`
  if (abusers === undefined) return `Set ${set}: ${why}`
  const all = [...(fewer === undefined ? [] : [fewer]), { ...abusers, windowMs }]
  const ifs = all.map((one) => {
    const { affected, from, to } = one
    const whose = sample === 1 ? '' : ' of the sample'
    const keys = affected === 1 ? `a key${whose} abuses` : `${asCount(affected)} keys${whose} abuse`
    const alone = affected === 1 ? 'it' : 'them'
    const range = `each limit from ${asCount(from)} to ${asCount(to)} refuses ${alone} alone`
    const few = `${asCount(one.limit)} in ${asDuration(one.windowMs)}`
    return `${few}, if ${keys} you (${namesOf(one)}): ${range}`
  })
  return `Set ${ifs.join('. Or ')}. Otherwise ${set}: ${why}`
}

function namesOf({ affected, keys }: Plateau): string {
  const others = affected - keys.length
  return (
    keys.map((key) => shown(key)).join(', ') + (others > 0 ? ` and ${asCount(others)} more` : '')
  )
}

/** The runs of each window. */
function grouped(windows: readonly WindowSuggestion[]): readonly (readonly WindowSuggestion[])[] {
  const all = new Map<number, WindowSuggestion[]>()
  for (const one of windows) all.set(one.windowMs, [...(all.get(one.windowMs) ?? []), one])
  return [...all.values()]
}

function limitRow(runs: readonly WindowSuggestion[], of: 'keys' | 'requests'): Row {
  const [{ windowMs }] = runs as [WindowSuggestion]
  const points = runs.map(({ curve: all, limit }) => all.find((point) => point.limit === limit))
  if (points.some((point) => point === undefined))
    return [
      asDuration(windowMs),
      'none is large enough',
      '-',
      '-',
      ...(of === 'keys' ? [] : ['-', '-']),
    ]
  const found = points as CurvePoint[]
  const mark = runs.every(({ isSmallest }) => isSmallest) ? '' : ' or less'
  return [
    asDuration(windowMs),
    `${asRange(
      found.map(({ limit }) => limit),
      asCount,
    )}${mark}`,
    asRange(
      found.map(({ affected }) => affected),
      asCount,
    ),
    [...new Set(found.map(({ affectedShare }) => asShare(affectedShare)))].join(' to '),
    ...(of === 'keys'
      ? []
      : [
          asRange(
            found.map(({ refused = 0 }) => refused),
            asCount,
          ),
          asRange(
            found.map(({ refusedShare = 0 }) => refusedShare),
            (share) => `${asPercent(share)} %`,
          ),
        ]),
  ]
}

/** The most points to print; the plot in HTML has all. */
const PRINTED = 12

function curveBlocks(
  runs: readonly WindowSuggestion[],
  { of, sample }: Pick<SuggestionReport, 'of' | 'sample'>,
): readonly Block[] {
  const worst = runs.reduce((one, other) => ((other.limit ?? 0) > (one.limit ?? 0) ? other : one))
  const { windowMs, curve: points, limit, plateaus } = worst
  if (points.length === 0) return []
  const shares = points.map((point) => ({
    limit: point.limit,
    share: of === 'keys' ? point.affectedShare.share : (point.refusedShare ?? 0),
  }))
  const head = [
    'limit',
    'keys refused',
    'share of keys',
    ...(of === 'keys' ? [] : ['requests refused', 'share']),
  ]
  const what = of === 'keys' ? 'keys' : 'requests'
  return [
    { kind: 'heading', text: `In ${asDuration(windowMs)}` },
    ...plateaus.map((one) => ({ kind: 'text', text: plateauText(one, sample) }) as const),
    { kind: 'table', head, rows: printed(worst).map((point) => pointRow(point, of, limit)) },
    { kind: 'plot', svg: curve(shares, limit, `Share of ${what} that a limit refuses`) },
  ]
}

function pointRow(point: CurvePoint, of: 'keys' | 'requests', limit: number | undefined): Row {
  const { affected, affectedShare, refused = 0, refusedShare = 0 } = point
  const mark = point.limit === limit ? ' <' : ''
  return [
    `${asCount(point.limit)}${mark}`,
    asCount(affected),
    asShare(affectedShare),
    ...(of === 'keys' ? [] : [asCount(refused), `${asPercent(refusedShare)} %`]),
  ]
}

function plateauText(plateau: Plateau, sample: number): string {
  const { affected, from, to } = plateau
  const [keys, are, these] = affected === 1 ? ['key', 'is', 'this'] : ['keys', 'are', 'these']
  const whose = sample === 1 ? '' : ' of the sample'
  const who = `${asCount(affected)} ${keys}${whose} (${namesOf(plateau)})`
  const abuse = affected === 1 ? 'abuses' : 'abuse'
  const range = `${asCount(from)} to ${asCount(to)}`
  return `${who} ${are} affected by every limit from ${range}; if ${these} ${abuse} you, set ${asCount(withMargin(from, to))}.`
}

/** The points nearest to the limit, on both sides, and those down to the edge of a plateau. */
function printed({ curve: points, limit, plateaus }: WindowSuggestion): readonly CurvePoint[] {
  const at = points.findIndex((point) => point.limit === limit)
  const from = Math.max(0, Math.min(at - PRINTED / 2, points.length - PRINTED))
  const edges = plateaus.map((one) => points.findIndex((point) => point.limit === one.from) - 1)
  return points.slice(Math.max(0, Math.min(from, ...edges)), from + PRINTED)
}
