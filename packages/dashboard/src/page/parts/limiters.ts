// A card for each limiter.

import type { Frame, LimiterFrame } from '../../protocol.js'
import { button, el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import { count, counted, measured, NOTHING, share, shown } from '../format.js'
import { degradedOf, type Rates, sumOf, totalsOf } from '../history.js'
import { stillWater } from '../icons.js'
import { allCounts, decisionsOverTime, sources } from './decisions.js'
import { type Fact, facts } from './facts.js'
import { nearKeys, refusedKeys } from './key-lists.js'
import { policyTable } from './policies.js'

/** What a card needs from the rest of the page. */
export interface LimiterActs {
  readonly ratesOf: (id: string) => Rates
  readonly lookUp: (limiter: string, handle: string, key: string) => void
  readonly switchTo: (limiter: LimiterFrame, enabled: boolean) => void
  /** Called with each chart's `recolour`, so that all charts can change colours. */
  readonly onChart: (recolour: () => void) => void
}

interface CardData {
  readonly frame: Frame
  readonly limiter: LimiterFrame
  readonly isWanted: boolean
}

/** With more limiters than this, the page offers a search by name. */
const FEW = 4

export function limiters(acts: LimiterActs): Part<Frame> {
  const cards = el('div', 'cards')
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
    cards,
    ({ limiter }: CardData) => limiter.id,
    ({ limiter }) => card(limiter, acts),
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
    omitted.hidden = frame.omitted === 0
    setText(omitted, `${counted(frame.omitted, 'limiter')} more are not shown.`)
  }
  search.addEventListener('input', () => {
    if (latest !== undefined) update(latest)
  })
  return { element: el('div', 'limiters', box, none, unmatched, cards, omitted), update }
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

let made = 0

function card(first: LimiterFrame, acts: LimiterActs): Part<CardData> {
  const title = el('bdi')
  const top = badges()
  const numbers = facts('facts wide')
  const overTime = decisionsOverTime(acts.ratesOf(first.id))
  acts.onChart(overTime.chart.recolour)
  const quiet = el(
    'p',
    'quiet-note',
    'No decision yet. The first one is shown here as soon as something asks this limiter.',
  )
  const by = sources()
  const policies = policyTable()
  const look = (handle: string, key: string): void => acts.lookUp(first.id, handle, key)
  const [refused, near, counts] = [refusedKeys(look), nearKeys(look), allCounts()]
  const switching = switchButton(acts)
  const id = `limiter-${++made}`
  const keys = el('div', 'key-lists', refused.element, near.element)
  const element = el(
    'article',
    { class: 'card', 'aria-labelledby': id },
    el('header', '', el('h3', { id }, title), top.element, switching.element),
    numbers.element,
    quiet,
    overTime.element,
    by.element,
    policies.element,
    keys,
    counts.element,
  )
  return {
    element,
    update(data) {
      const { limiter } = data
      element.hidden = !data.isWanted
      const isAsked = sumOf(totalsOf(limiter)) > 0
      setText(title, shown(limiter.id))
      top.update(data)
      switching.update(limiter)
      numbers.update(headline(limiter, acts.ratesOf(first.id)))
      quiet.hidden = isAsked
      for (const part of [overTime.element, by.element, keys]) part.hidden = !isAsked
      overTime.update(limiter)
      by.update(limiter)
      policies.update(limiter.policies)
      policies.element.hidden = limiter.policies.length === 0
      refused.update(limiter.refusedKeys)
      near.update(limiter.nearKeys)
      counts.update(limiter)
      counts.element.hidden = !isAsked
    },
  }
}

function headline(limiter: LimiterFrame, rates: Rates): readonly Fact[] {
  const now = rates.now()
  const recent = rates.recent()
  const totals = totalsOf(limiter)
  return [
    ['Decisions/s', now === undefined ? NOTHING : measured(sumOf(now)), 'In the last second'],
    [
      'Denied, last minute',
      share(recent.denied, sumOf(recent)),
      'Of the decisions of the last minute',
    ],
    ['In all', count(sumOf(totals)), 'Decisions since the limiter was made'],
    ['Denied in all', share(totals.denied, sumOf(totals)), 'Of all decisions'],
    ['Degraded', share(degradedOf(limiter), sumOf(totals)), 'Decided without the shared store'],
    ['Waiting', count(limiter.waiting), 'Requests that wait for their turn now'],
  ]
}

/** A limiter's state: switched off, here or in some processes; or not enforced. */
function badges(): Part<CardData> {
  const state = el('span', 'pill')
  const elsewhere = el('span', { class: 'pill', 'data-kind': 'fair' })
  return {
    element: el('span', 'badges', state, elsewhere),
    update({ limiter, frame }) {
      const kind = !limiter.enabled ? 'bad' : limiter.shadow ? 'shadow' : 'good'
      setAttribute(state, 'data-kind', kind)
      setText(
        state,
        !limiter.enabled ? 'off' : limiter.shadow ? 'shadow: not enforced' : 'enforced',
      )
      const all = frame.fleet.flatMap((process) =>
        process.limiters.filter(({ name }) => name === limiter.name),
      )
      const off = all.filter(({ enabled }) => !enabled).length
      elsewhere.hidden = off === 0 || all.length < 2
      setText(elsewhere, `off in ${count(off)} of ${count(all.length)} processes`)
    },
  }
}

function switchButton({ switchTo }: LimiterActs): Part<LimiterFrame> {
  let latest: LimiterFrame | undefined
  const element = button(
    '',
    () => {
      if (latest !== undefined) switchTo(latest, !latest.enabled)
    },
    'button quiet act',
  )
  return {
    element,
    update(limiter) {
      latest = limiter
      setText(element, limiter.enabled ? 'Switch off…' : 'Switch on…')
      setAttribute(
        element,
        'aria-label',
        `${element.textContent?.replace('…', '')} ${shown(limiter.id)}…`,
      )
    },
  }
}
