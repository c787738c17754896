// A limiter's decisions: over time, as a chart with its legend, and each count separately.

import type { LimiterFrame } from '../../protocol.js'
import { OUTCOMES, type Outcome, totalsOf } from '../../totals.js'
import { type Chart, chartIn } from '../chart.js'
import { el, type Part, setAttribute, setText } from '../dom.js'
import { clock, count, duration, NOTHING, rate, share, shown } from '../format.js'
import type { Point, Rates } from '../history.js'
import { type Fact, facts } from './facts.js'

const NAMES: Readonly<Record<Outcome, string>> = {
  allowed: 'allowed',
  shadow_denied: 'shadow denied',
  denied: 'denied',
  error: 'errors',
}

/** A limiter's chart, and its legend with rates and totals. */
export function decisionsOverTime(
  ratesNow: () => Rates,
): Part<LimiterFrame> & { readonly chart: Chart } {
  const legend = legendOf()
  const canvas = el('div', 'chart')
  const picture = el('div', { role: 'img', class: 'picture' }, canvas)
  let latest: LimiterFrame | undefined
  let pointed: Point | undefined
  const chart = chartIn(canvas, (point) => {
    pointed = point
    if (latest !== undefined) legend.update({ limiter: latest, rates: ratesNow(), pointed })
  })
  return {
    element: el('div', 'over-time', picture, legend.element),
    chart,
    update(limiter) {
      latest = limiter
      const rates = ratesNow()
      const { points } = rates
      const spanMs = (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0)
      canvas.dataset.spanMs = String(spanMs)
      setAttribute(picture, 'aria-label', summaryOf(limiter, rates, spanMs))
      chart.draw(points)
      legend.update({ limiter, rates, pointed })
    },
  }
}

/** The chart in words. */
function summaryOf({ name }: LimiterFrame, rates: Rates, spanMs: number): string {
  const now = rates.now()
  const about = `Chart: decisions of ${shown(name)} each second, over ${duration(spanMs)}.`
  if (now === undefined) return about
  const words = OUTCOMES.filter((of) => of === 'allowed' || of === 'denied' || now[of] > 0)
  const most = rates.points.reduce((max, { rates }) => Math.max(max, rates?.denied ?? 0), 0)
  const values = words.map((of) => `${rate(now[of])} ${NAMES[of]}`).join(', ')
  return `${about} Now ${values}. At most ${rate(most)} denied.`
}

interface LegendData {
  readonly limiter: LimiterFrame
  readonly rates: Rates
  readonly pointed: Point | undefined
}

function legendOf(): Part<LegendData> {
  const when = el('th', { scope: 'col', class: 'number' }, 'per second')
  const head = el(
    'tr',
    '',
    el('th', { scope: 'col' }, 'Outcome'),
    when,
    el('th', { scope: 'col', class: 'number' }, 'in all'),
  )
  const body = el('tbody')
  const rows = OUTCOMES.map((outcome) => {
    const lately = el('td', 'number')
    const total = el('td', { class: 'number', 'data-total': outcome })
    const swatch = el('span', { class: 'swatch', 'data-outcome': outcome, 'aria-hidden': 'true' })
    body.append(el('tr', '', el('th', { scope: 'row' }, swatch, NAMES[outcome]), lately, total))
    return { outcome, lately, total }
  })
  return {
    element: el(
      'table',
      'legend',
      el('caption', 'hidden', 'Decisions by outcome'),
      el('thead', '', head),
      body,
    ),
    update({ limiter, rates, pointed }) {
      const now = pointed === undefined ? rates.now() : (pointed.rates ?? undefined)
      const totals = totalsOf(limiter)
      setText(when, pointed === undefined ? 'per second' : `at ${clock(pointed.atMs)}`)
      for (const { outcome, lately, total } of rows) {
        setText(lately, now === undefined ? NOTHING : rate(now[outcome]))
        setText(total, count(totals[outcome]))
      }
    },
  }
}

const SOURCES = ['store', 'lease', 'cache', 'local', 'none'] as const
const SOURCE_NAMES = {
  store: 'store',
  lease: 'lease',
  cache: 'deny cache',
  local: 'this process',
  none: 'nothing to ask',
} as const

/** Where decisions were made: each source's share. */
export function sources(): Part<LimiterFrame> {
  const bar = el('div', { class: 'sources', 'aria-hidden': 'true' })
  const list = el('ul', 'source-list')
  const parts = SOURCES.map((source) => {
    const piece = el('span', { 'data-source': source })
    const text = el('span')
    const item = el(
      'li',
      '',
      el('span', { class: 'swatch', 'data-source': source, 'aria-hidden': 'true' }),
      text,
    )
    bar.append(piece)
    list.append(item)
    return { source, piece, text, item }
  })
  return {
    element: el('div', 'source', el('h4', '', 'Decided by'), bar, list),
    update({ decisions }) {
      const all = decisions.reduce((sum, row) => sum + row.count, 0)
      for (const { source, piece, text, item } of parts) {
        const rows = decisions.filter((row) => row.source === source)
        const times = rows.reduce((sum, row) => sum + row.count, 0)
        piece.style.width = all === 0 ? '0' : `${(100 * times) / all}%`
        item.hidden = times === 0
        setText(text, `${SOURCE_NAMES[source]} ${share(times, all)}`)
      }
    },
  }
}

/** All of a limiter's counts, as `stats()` has them. */
export function allCounts(): Part<LimiterFrame> {
  const counts = facts()
  return {
    element: el('details', '', el('summary', '', 'All counts'), counts.element),
    update: (limiter) => counts.update(countsOf(limiter)),
  }
}

const UNDECIDED = {
  skip: 'not asked: skipped',
  allowList: 'not asked: on the allow list',
  denyList: 'refused: on the deny list',
  preflight: 'not asked: CORS preflight',
  noKey: 'not asked: no usable key',
} as const

function countsOf(limiter: LimiterFrame): readonly Fact[] {
  const decisions = limiter.decisions.map(({ outcome, source, degraded, count: times }) => {
    const how = degraded ? ', degraded' : ''
    return [`${NAMES[outcome]}, ${SOURCE_NAMES[source]}${how}`, count(times)] as const
  })
  const classes = limiter.priorities.map(({ priority, outcome, count: times }) => {
    return [
      `class ${shown(priority)}: ${shown(outcome).replaceAll('_', ' ')}`,
      count(times),
    ] as const
  })
  const names = Object.keys(UNDECIDED) as (keyof typeof UNDECIDED)[]
  const undecided = names
    .filter((name) => limiter.undecided[name] > 0)
    .map((name) => [UNDECIDED[name], count(limiter.undecided[name])] as const)
  const { waits } = limiter
  const mean =
    waits.count === 0 ? [] : [['mean wait', duration((1_000 * waits.sum) / waits.count)] as const]
  const ended = waits.count === 0 ? [] : [['waits that ended', count(waits.count)] as const]
  return [...decisions, ...classes, ...undecided, ...ended, ...mean]
}
