// The stores and their nodes, the memory that this process keeps, and overload protection.

import type { Frame, GuardFrame, StoreFrame } from '../../protocol.js'
import { degradedOf, totalsOf } from '../../totals.js'
import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import { bytes, count, counted, duration, minute, NOTHING, share, shown } from '../format.js'
import { type Durations, type History, sumOf } from '../history.js'
import { healthOf, healthWords, nameOf, nodeHealth } from '../verdict.js'
import { type Fact, facts } from './facts.js'
import { table } from './table.js'

type Node = StoreFrame['nodes'][number]
type NodeData = Node & { readonly of: StoreFrame }

interface StoreData {
  readonly store: StoreFrame
  readonly name: string
}

/** @param history what is remembered now */
export function health(history: () => History): Part<Frame> {
  const stores = el('div', 'contents')
  const guards = el('div', 'contents')
  const numbers = facts()
  const memory = memoryRow()
  const fillStores = rowsOf(
    stores,
    ({ store }: StoreData) => store.id,
    ({ store: { id } }) => remoteStore((node) => history().durationsOf(id, node)),
  )
  const fillGuards = rowsOf(guards, ({ id }: GuardFrame) => id, guardRow)
  return {
    element: el('div', 'panel', numbers.element, stores, memory.element, guards),
    update(frame) {
      numbers.update(factsOf(frame))
      const remote = frame.stores.filter(({ memory }) => memory === undefined)
      fillStores(remote.map((store) => ({ store, name: nameOf(store, frame) })))
      memory.update(frame.stores.filter((store) => store.memory !== undefined))
      fillGuards(frame.guards)
    },
  }
}

/** The decisions of all limiters. */
function factsOf({ limiters }: Frame): readonly Fact[] {
  const totals = limiters.map(totalsOf)
  const all = totals.reduce((sum, each) => sum + sumOf(each), 0)
  const degraded = limiters.reduce((sum, limiter) => sum + degradedOf(limiter), 0)
  return [
    ['Decisions', count(all)],
    [
      'Without the store',
      `${count(degraded)}${degraded === 0 ? '' : ` (${share(degraded, all)})`}`,
    ],
    ['Failed', count(totals.reduce((sum, { error }) => sum + error, 0))],
    ['Waiting now', count(limiters.reduce((sum, { waiting }) => sum + waiting, 0))],
  ]
}

const COLUMNS = [
  { title: 'Node' },
  { title: 'State' },
  { title: 'Half within', kind: 'number' },
  { title: '99% within', kind: 'number' },
  { title: 'Calls', kind: 'number' },
  { title: 'In flight', kind: 'number' },
  { title: 'Timeouts', kind: 'number' },
  { title: 'Errors', kind: 'number' },
  { title: 'Not sent', kind: 'number' },
] as const

/** A store outside of the process, with a row for each of its nodes. */
function remoteStore(durations: (node: string) => Durations): Part<StoreData> {
  const title = el('bdi')
  const state = el('span', 'pill')
  const more = el('span', 'muted small')
  const nodes = table(
    'Nodes of this store',
    COLUMNS,
    ({ node }: NodeData) => node,
    ({ node }) => nodeRow(() => durations(node)),
  )
  return {
    element: el(
      'article',
      'store',
      el('header', 'line', el('h3', '', title), state, more),
      nodes.element,
    ),
    update({ store, name }) {
      const worst = healthOf(store)
      const [kind, words] = healthWords(worst)
      const some = store.nodes.filter(({ state }) => state === worst).length || store.nodes.length
      setText(title, name)
      setAttribute(state, 'data-kind', kind)
      const all = store.nodes.length
      setText(state, some === all ? words : `${count(some)} of ${count(all)} ${words}`)
      // Of one node, its row says it.
      state.hidden = all < 2
      nodes.element.hidden = all === 0
      setText(more, storeWords(store))
      nodes.update(store.nodes.map((node) => ({ ...node, of: store })))
    },
  }
}

const RESULTS = ['timeout', 'error', 'notSent'] as const

function nodeRow(seenNow: () => Durations): {
  cells: readonly HTMLElement[]
  update: (node: NodeData) => void
} {
  const name = el('bdi', 'strong')
  const state = el('span', 'pill')
  const numbers = COLUMNS.slice(2).map(() => el('span'))
  return {
    cells: [name, state, ...numbers],
    update({ node, state: health, awaySinceMs, calls, inFlight, durations, of }) {
      const seen = seenNow()
      const [kind, words] = healthWords(nodeHealth(of, health))
      setText(name, shown(node))
      setAttribute(state, 'data-kind', kind)
      const isAway = health === 'open' && awaySinceMs !== undefined
      setText(state, isAway ? `${words} since ${minute(awaySinceMs)}` : words)
      const texts = [
        ...[0.5, 0.99].map((part) => bound(seen.quantile(part), durations.bounds.at(-1))),
        count(calls.ok + calls.timeout + calls.error + calls.notSent),
        count(inFlight),
        ...RESULTS.map((result) => {
          const recent = seen.recent(result)
          return count(calls[result]) + (recent > 0 ? ` (${count(recent)} new)` : '')
        }),
      ]
      for (const [i, text] of texts.entries()) setText(numbers[i] as HTMLElement, text)
    },
  }
}

function bound(seconds: number | undefined, most = 0): string {
  if (seconds === undefined) return NOTHING
  return seconds > most ? `over ${duration(most * 1_000)}` : duration(seconds * 1_000)
}

const EVENTS: Readonly<Record<string, string>> = {
  breaker: 'changes of the breaker',
  fallback: 'decided without it',
  'key-error': 'keys not readable',
  'data-loss': 'keys lost and restored',
}

/** Notes that are shown only if there is something to say. */
function storeWords(store: StoreFrame): string {
  const words: string[] = []
  if (store.instances > 1) words.push(`shared by ${count(store.instances)} processes`)
  if (store.unreconciled > 0) words.push(`${counted(store.unreconciled, 'key')} to be reconciled`)
  for (const [event, times] of Object.entries(store.events))
    if (times > 0) words.push(`${EVENTS[event] ?? shown(event)} ${count(times)}`)
  return words.join(' · ')
}

/** All stores in this process's memory, in one row. */
function memoryRow(): Part<readonly StoreFrame[]> {
  const title = el('h3')
  const numbers = facts()
  const element = el('article', 'store row', title, numbers.element)
  return {
    element,
    update(stores) {
      element.hidden = stores.length === 0
      const sum = (of: 'keys' | 'bytes' | 'evictions'): number =>
        stores.reduce((all, { memory }) => all + (memory?.[of] ?? 0), 0)
      setText(
        title,
        stores.length === 1
          ? 'In the memory of this process'
          : `In the memory of this process, ${counted(stores.length, 'store')}`,
      )
      numbers.update([
        ['Keys', count(sum('keys'))],
        ['Memory', bytes(sum('bytes'))],
        ['Evicted', count(sum('evictions'))],
      ])
    },
  }
}

/** Overload protection: how full it is. */
function guardRow(): Part<GuardFrame> {
  const name = el('bdi')
  const state = el('span', 'pill')
  const fill = el('span', 'fill')
  const bar = el('div', { class: 'meter', 'aria-hidden': 'true' }, fill)
  const numbers = facts()
  const classes = el('p', 'muted small')
  return {
    element: el(
      'article',
      'store',
      el('header', 'line', el('h3', '', name), state),
      bar,
      numbers.element,
      classes,
    ),
    update(guard) {
      const used = guard.limit === 0 ? 1 : Math.min(1, guard.inFlight / guard.limit)
      const kind = used >= 1 ? 'fair' : 'good'
      setText(name, shown(guard.id))
      setAttribute(state, 'data-kind', kind)
      setText(state, used >= 1 ? 'full' : 'has room')
      fill.style.width = `${100 * used}%`
      setAttribute(bar, 'data-kind', kind)
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
