// A row for each limiter, which opens.

import type { Frame, LimiterFrame } from '../../protocol.js'
import { degradedOf, totalsOf } from '../../totals.js'
import { el, type Part, rowButton, rowsOf, setAttribute, setText } from '../dom.js'
import { clock, count, counted, minute, NOTHING, rate, share, shown } from '../format.js'
import { type History, type Rates, sumOf } from '../history.js'
import { sparkline, stillWater } from '../icons.js'
import { limiterState, offIn } from '../verdict.js'
import { allCounts, decisionsOverTime, sources } from './decisions.js'
import { type Fact, facts } from './facts.js'
import { startOf } from './header.js'
import { nearKeys, refusedKeys } from './key-lists.js'
import { policyTable } from './policies.js'

/** What a row needs from the rest of the page. */
export interface LimiterActs {
  readonly history: () => History
  readonly lookUp: (limiter: string, handle: string, key: string) => void
  readonly switchTo: (limiter: LimiterFrame, enabled: boolean) => void
  /** Called with each chart's `recolour`, so that all charts can change colours. */
  readonly onChart: (recolour: () => void) => void
}

interface RowData {
  readonly frame: Frame
  readonly limiter: LimiterFrame
  readonly isWanted: boolean
}

/** With more limiters than this, the page offers a search by name. */
const FEW = 4

export function limiters(acts: LimiterActs): Part<Frame> {
  const list = el('div', 'limiter-list')
  const head = el(
    'div',
    { class: 'limiter-row head', 'aria-hidden': 'true' },
    ...['', 'Limiter', 'Last minute', 'Decisions/s', 'Denied', 'Without store'].map((title) =>
      el('span', '', title),
    ),
  )
  const panel = el('div', 'panel flush', head, list)
  const none = empty()
  const unmatched = el('p', 'muted', 'No limiter has a name like this.')
  const omitted = el('p', 'muted')
  const search = el('input', {
    type: 'search',
    id: 'limiter-search',
    placeholder: 'Filter by name',
  })
  const box = el(
    'div',
    'search',
    el('label', { for: 'limiter-search', class: 'hidden' }, 'Filter limiters by name'),
    search,
  )
  const fill = rowsOf(
    list,
    ({ limiter }: RowData) => limiter.id,
    ({ limiter, frame }) => row(limiter, acts, frame.limiters.length === 1),
  )
  let latest: Frame | undefined
  const update = (frame: Frame): void => {
    latest = frame
    const wanted = search.value.trim().toLowerCase()
    const rows = frame.limiters.map((limiter) => {
      const isWanted = limiter.id.toLowerCase().includes(wanted)
      return { frame, limiter, isWanted }
    })
    fill(rows)
    none.hidden = frame.limiters.length > 0
    box.hidden = frame.limiters.length <= FEW
    unmatched.hidden = rows.length === 0 || rows.some(({ isWanted }) => isWanted)
    panel.hidden = !rows.some(({ isWanted }) => isWanted)
    omitted.hidden = frame.omitted === 0
    setText(omitted, `${counted(frame.omitted, 'limiter')} more are not shown.`)
  }
  search.addEventListener('input', () => {
    if (latest !== undefined) update(latest)
  })
  return { element: el('div', '', box, none, unmatched, panel, omitted), update }
}

function empty(): HTMLElement {
  const example = 'dashboard({ limiters: [limiter] })'
  return el(
    'div',
    'empty',
    stillWater(),
    el('h3', '', 'No limiter yet'),
    el('p', '', 'Give the limiters to watch when you create the dashboard:'),
    el('pre', '', el('code', '', example)),
  )
}

/** @param isOpen whether it is open from the start */
function row(first: LimiterFrame, acts: LimiterActs, isOpen: boolean): Part<RowData> {
  const title = el('bdi')
  const [state, elsewhere] = [el('span', 'pill'), el('span', 'pill')]
  const line = sparkline()
  const [now, denied, degraded] = [el('span'), el('span'), el('span')]
  const cell = (value: HTMLElement, unit: string): HTMLElement =>
    el('span', 'number', value, el('span', 'unit', ` ${unit}`))
  const without = cell(degraded, 'without the store')
  const summary = el(
    'summary',
    'limiter-row',
    el('h3', '', title),
    el('span', 'badges', state, elsewhere),
    line.element,
    el('span', 'figures', cell(now, 'per second'), cell(denied, 'denied'), without),
  )
  let latest: RowData | undefined
  // Made when it is first opened, so that 200 limiters cost no more than those that are open.
  let inside: Part<RowData> | undefined
  const open = (): void => {
    if (!element.open || latest === undefined) return
    if (inside === undefined) {
      inside = details(first.id, acts)
      element.append(inside.element)
    }
    inside.update(latest)
  }
  const element = el('details', { class: 'limiter', open: isOpen, ontoggle: open }, summary)
  return {
    element,
    update(data) {
      latest = data
      const { limiter, frame, isWanted } = data
      const rates = acts.history().ratesOf(first.id)
      const recent = rates.recent()
      const lately = sumOf(recent)
      element.hidden = !isWanted
      setText(title, shown(limiter.id))
      const [kind, words] = limiterState(limiter, frame)
      setAttribute(state, 'data-kind', limiter.shadow && kind === 'idle' ? 'shadow' : kind)
      setText(state, words)
      const [off, all] = offIn(limiter, frame)
      elsewhere.hidden = off === 0 || all < 2
      setAttribute(elsewhere, 'data-kind', 'fair')
      setText(elsewhere, `off in ${count(off)} of ${count(all)} processes`)
      line.draw(rates.points, frame.atMs)
      const last = rates.now()
      setText(now, last === undefined ? NOTHING : rate(sumOf(last)))
      setText(denied, share(recent.denied, lately))
      setText(degraded, share(rates.recentDegraded(), lately))
      setAttribute(without, 'data-none', rates.recentDegraded() === 0)
      open()
    },
  }
}

/** What a row shows when it is open. */
function details(id: string, acts: LimiterActs): Part<RowData> {
  const numbers = facts()
  const overTime = decisionsOverTime(() => acts.history().ratesOf(id))
  acts.onChart(overTime.chart.recolour)
  const quiet = el(
    'p',
    'quiet-note',
    'No decision yet. The first one is shown here as soon as something asks this limiter.',
  )
  const by = sources()
  const policies = policyTable()
  const look = (handle: string, key: string): void => acts.lookUp(id, handle, key)
  const [refused, near, counts] = [refusedKeys(look), nearKeys(look), allCounts()]
  const since = el('p', 'muted small')
  const does = ({ enabled }: LimiterFrame): string => (enabled ? 'Switch off' : 'Switch on')
  const switching = rowButton<LimiterFrame>(
    (limiter) => `${does(limiter)}…`,
    (limiter) => acts.switchTo(limiter, !limiter.enabled),
    (limiter) => `${does(limiter)} ${shown(limiter.id)}…`,
  )
  const keys = el('div', '', since, el('div', 'key-lists', refused.element, near.element))
  return {
    element: el(
      'div',
      'inside',
      numbers.element,
      quiet,
      overTime.element,
      by.element,
      policies.element,
      keys,
      counts.element,
      switching.element,
    ),
    update({ frame, limiter }) {
      const rates = acts.history().ratesOf(id)
      const isAsked = sumOf(totalsOf(limiter)) > 0
      switching.update(limiter)
      numbers.update(headline(limiter, rates, frame))
      quiet.hidden = isAsked
      for (const part of [overTime.element, by.element, keys]) part.hidden = !isAsked
      overTime.update(limiter)
      by.update(limiter)
      policies.update(limiter.policies)
      policies.element.hidden = limiter.policies.length === 0
      const { seenSinceMs } = frame
      setText(
        since,
        `Keys that this process saw since ${seenSinceMs === undefined ? '' : `${clock(seenSinceMs)}, when `}somebody began to watch. Choose one to look it up.`,
      )
      refused.update(limiter.refusedKeys)
      near.update(limiter.nearKeys)
      counts.update(limiter)
      counts.element.hidden = !isAsked
    },
  }
}

function headline(limiter: LimiterFrame, rates: Rates, frame: Frame): readonly Fact[] {
  const recent = rates.recent()
  const totals = totalsOf(limiter)
  const all = sumOf(totals)
  return [
    [`Decisions since ${minute(startOf(frame))}`, count(all)],
    ['Of these denied', share(totals.denied, all)],
    ['Without the store', share(degradedOf(limiter), all)],
    ['In the last minute', count(sumOf(recent))],
    ['Denied in the last minute', share(recent.denied, sumOf(recent))],
    ['Waiting now', count(limiter.waiting)],
  ]
}
