// The health of stores, of their nodes, and of overload guards.

import type { Frame, GuardFrame, LimiterFrame, StoreFrame } from '../../protocol.js'
import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import { bytes, count, counted, duration, NOTHING, share, shown } from '../format.js'
import { type Durations, degradedOf, type Rates, sumOf, totalsOf } from '../history.js'
import { facts } from './facts.js'
import { table } from './table.js'

type Node = StoreFrame['nodes'][number]

const STATES = {
  closed: ['good', 'The node answers'],
  'half-open': ['fair', 'The node failed, and is tried again'],
  open: ['bad', 'The node failed, and is not asked'],
} as const

/**
 * @param durations returns a node's durations, over all frames
 * @param ratesOf returns a limiter's rates
 */
export function health(
  durations: (store: string, node: string) => Durations,
  ratesOf: (limiter: string) => Rates,
): Part<Frame> {
  const stores = el('div', 'contents')
  const guards = el('div', 'contents')
  const decisions = decisionsTile(ratesOf)
  const updateStores = rowsOf(
    stores,
    ({ id }: StoreFrame) => id,
    ({ id, nodes }) =>
      nodes.length === 0 ? localTile() : storeTile((node) => durations(id, node)),
  )
  const updateGuards = rowsOf(guards, ({ id }: GuardFrame) => id, guardTile)
  return {
    element: el('div', 'tiles', decisions.element, stores, guards),
    update(frame) {
      decisions.update(frame)
      updateStores(frame.stores)
      updateGuards(frame.guards)
    },
  }
}

const COLUMNS = [
  { title: 'Node' },
  { title: 'Breaker' },
  { title: 'p50', kind: 'number' },
  { title: 'p99', kind: 'number' },
  { title: 'Calls', kind: 'number' },
  { title: 'In flight', kind: 'number' },
  { title: 'Timeouts', kind: 'number' },
  { title: 'Errors', kind: 'number' },
  { title: 'Not sent', kind: 'number' },
] as const

/** A store, with a row for each of its nodes. */
function storeTile(durations: (node: string) => Durations): Part<StoreFrame> {
  const name = el('bdi', 'tile-name')
  const more = el('span', 'muted small')
  const nodes = table(
    'Nodes of this store',
    COLUMNS,
    ({ node }: Node) => node,
    ({ node }) => nodeRow(durations(node)),
  )
  return {
    element: el('article', 'tile wide', el('header', '', el('h3', '', name), more), nodes.element),
    update(store) {
      setText(name, shown(store.kind))
      setText(more, storeWords(store))
      nodes.update(store.nodes)
    },
  }
}

function nodeRow(seen: Durations): { cells: readonly HTMLElement[]; update: (node: Node) => void } {
  const name = el('bdi', 'strong')
  const state = el('span', 'pill')
  const numbers = COLUMNS.slice(2).map(() => el('span'))
  return {
    cells: [name, state, ...numbers],
    update({ node, state: breaker, calls, inFlight }) {
      const [level, meaning] = STATES[breaker]
      setText(name, shown(node))
      setAttribute(state, 'data-kind', level)
      setAttribute(state, 'title', meaning)
      setText(state, breaker)
      const { ok, timeout, error, notSent } = calls
      const texts = [
        bound(seen.quantile(0.5)),
        bound(seen.quantile(0.99)),
        count(ok + timeout + error + notSent),
        count(inFlight),
        count(timeout),
        count(error),
        count(notSent),
      ]
      for (const [i, text] of texts.entries()) setText(numbers[i] as HTMLElement, text)
      for (const [i, result] of [
        [4, 'timeout'],
        [5, 'error'],
        [6, 'notSent'],
      ] as const)
        setAttribute(
          numbers[i] as HTMLElement,
          'title',
          `${count(seen.recent(result))} in the last minute`,
        )
    },
  }
}

function bound(seconds: number | undefined): string {
  if (seconds === undefined) return NOTHING
  return seconds === Number.POSITIVE_INFINITY ? 'off scale' : `≤ ${duration(seconds * 1_000)}`
}

/** Notes that are shown only if there is something to say. */
function storeWords(store: StoreFrame): string {
  const words: string[] = []
  if (store.instances > 1) words.push(counted(store.instances, 'store'))
  if (store.unreconciled > 0) words.push(`${counted(store.unreconciled, 'key')} to be reconciled`)
  for (const [event, times] of Object.entries(store.events))
    if (times > 0) words.push(`${shown(event).replaceAll('_', ' ')} ${count(times)}`)
  return words.join(' · ')
}

/** A store in the process's memory. */
function localTile(): Part<StoreFrame> {
  const name = el('bdi', 'tile-name')
  const numbers = facts()
  const more = el('p', 'muted small')
  return {
    element: el(
      'article',
      'tile',
      el(
        'header',
        '',
        el('h3', '', name),
        el('span', { class: 'pill', 'data-kind': 'good' }, 'here'),
      ),
      numbers.element,
      more,
    ),
    update(store) {
      setText(name, shown(store.kind))
      const { memory } = store
      numbers.update([
        ['Keys', memory === undefined ? NOTHING : count(memory.keys)],
        ['Memory', memory === undefined ? NOTHING : bytes(memory.bytes)],
        ['Evicted', memory === undefined ? NOTHING : count(memory.evictions)],
      ])
      setText(more, storeWords(store))
    },
  }
}

/** The share of all decisions that were made without the shared store, and whether any of the last
 *  minute was. */
function decisionsTile(ratesOf: (limiter: string) => Rates): Part<Frame> {
  const numbers = facts()
  const state = el('span', { class: 'pill', title: 'In the last minute' })
  return {
    element: el(
      'article',
      'tile',
      el('header', '', el('h3', '', 'Decisions'), state),
      numbers.element,
    ),
    update({ limiters }) {
      const sum = (of: (limiter: LimiterFrame) => number): number =>
        limiters.reduce((sum, limiter) => sum + of(limiter), 0)
      const all = sum((limiter) => sumOf(totalsOf(limiter)))
      const degraded = sum(degradedOf)
      const isWell = sum(({ id }) => ratesOf(id).recentDegraded()) === 0
      setAttribute(state, 'data-kind', isWell ? 'good' : 'fair')
      setText(state, `${isWell ? 'none' : 'some'} degraded`)
      numbers.update([
        ['In all', count(all), 'Since this process began'],
        ['Degraded in all', count(degraded), 'Decided without the shared store'],
        ['Share', share(degraded, all), 'Degraded decisions of all'],
        ['Errors', count(sum((limiter) => totalsOf(limiter).error))],
        ['Waiting', count(sum(({ waiting }) => waiting)), 'Requests that wait now'],
      ])
    },
  }
}

/** An overload guard: how full it is. */
function guardTile(): Part<GuardFrame> {
  const name = el('bdi', 'tile-name')
  const state = el('span', 'pill')
  const fill = el('span', 'fill')
  const bar = el('div', { class: 'meter', 'aria-hidden': 'true' }, fill)
  const numbers = facts()
  const classes = el('p', 'muted small')
  return {
    element: el(
      'article',
      'tile',
      el('header', '', el('h3', '', name), state),
      bar,
      numbers.element,
      classes,
    ),
    update(guard) {
      const used = guard.limit === 0 ? 1 : Math.min(1, guard.inFlight / guard.limit)
      setText(name, shown(guard.id))
      setAttribute(state, 'data-kind', used >= 1 ? 'bad' : used >= 0.8 ? 'fair' : 'good')
      setText(state, used >= 1 ? 'full' : used >= 0.8 ? 'nearly full' : 'has room')
      fill.style.width = `${100 * used}%`
      setAttribute(bar, 'data-kind', used >= 1 ? 'bad' : used >= 0.8 ? 'fair' : 'good')
      numbers.update([
        ['In flight', count(guard.inFlight)],
        ['Limit', count(Math.floor(guard.limit))],
        ['Refused', count(guard.refused)],
      ])
      const words = guard.priorities.map((row) =>
        Object.entries(row)
          .map(([key, value]) => `${shown(key)} ${shown(String(value))}`)
          .join(' '),
      )
      setText(classes, words.join(' · '))
    },
  }
}
