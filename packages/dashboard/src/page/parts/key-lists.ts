// The keys that a limiter refuses most, and those that it will refuse soon.

import type { KeyRow, NearRow } from '../../protocol.js'
import { el, isHeld, type Part, rowsOf, setText } from '../dom.js'
import { clock, count, duration, shown } from '../format.js'

/** Looks up a key of a list. */
export type Asking = (handle: string, key: string) => void

interface Row {
  readonly key: string
  readonly handle: string
  /** The figure, and the text below the key. */
  readonly figure: string
  readonly detail: string
  /** The length of the bar behind the key: from 0 to 1. */
  readonly part: number
}

/** The keys that are refused most. A count may be too large by its error, never too small. */
export function refusedKeys(ask: Asking): Part<readonly KeyRow[]> {
  const list = keyList('Refused most', 'None was refused.', ask)
  return {
    element: list.element,
    update(rows) {
      const most = rows.reduce((max, { count }) => Math.max(max, count), 1)
      list.update(rows.map((row) => refusedRow(row, most)))
    },
  }
}

function refusedRow(row: KeyRow, most: number): Row {
  const { key, handle, error } = row
  const least = error === 0 ? '' : `${count(row.count - error)}–`
  const later = row.retryAfterMs === null ? '' : ' later'
  return {
    key,
    handle,
    figure: least + count(row.count),
    detail: `${shown(row.policy)} · last ${clock(row.lastMs)}, passes ${duration(row.retryAfterMs)}${later}`,
    part: row.count / most,
  }
}

/** The keys with at most a fifth of a limit left. */
export function nearKeys(ask: Asking): Part<readonly NearRow[]> {
  const list = keyList('Nearly used up', 'None came near a limit.', ask)
  return {
    element: list.element,
    update(rows) {
      list.update(
        rows.map(({ key, handle, lastMs, policy, remaining, limit }) => ({
          key,
          handle,
          figure: `${count(remaining)} left`,
          detail: `${shown(policy)} · of ${count(limit)} · last ${clock(lastMs)}`,
          part: limit === 0 ? 1 : 1 - remaining / limit,
        })),
      )
    },
  }
}

function keyList(title: string, nothing: string, ask: Asking): Part<readonly Row[]> {
  const list = el('ol', 'keys')
  const none = el('p', 'muted small', nothing)
  const fill = rowsOf(
    list,
    ({ handle }: Row) => handle,
    (row) => keyRow(row, ask),
  )
  let places: readonly string[] = []
  return {
    element: el('div', 'key-list', el('h4', '', title), list, none),
    update(rows) {
      const held = isHeld(list) ? inPlaces(rows, places) : rows
      places = held.map(({ handle }) => handle)
      fill(held)
      none.hidden = held.length > 0
    },
  }
}

/** The rows in their previous places, so that none slips away from under the pointer. */
function inPlaces(rows: readonly Row[], places: readonly string[]): readonly Row[] {
  const placed = places.flatMap((place) => rows.find(({ handle }) => handle === place) ?? [])
  return [...placed, ...rows.filter(({ handle }) => !places.includes(handle))]
}

function keyRow({ handle, key }: Row, ask: Asking): Part<Row> {
  const name = el('bdi', 'key-name')
  const figure = el('span', 'figure')
  const detail = el('span', 'muted small')
  const fill = el('span', { class: 'part', 'aria-hidden': 'true' })
  const look = el(
    'button',
    { type: 'button', class: 'key-row', onclick: () => ask(handle, key) },
    fill,
    name,
    figure,
    detail,
  )
  return {
    element: el('li', '', look),
    update(row) {
      setText(name, shown(row.key))
      setText(figure, row.figure)
      setText(detail, row.detail)
      fill.style.width = `${Math.round(100 * row.part)}%`
    },
  }
}
