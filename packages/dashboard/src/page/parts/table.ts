// Tables that stay tables for screen readers when a narrow window shows their rows as cards: a
// style that removes `display: table` removes the meaning with it, so each element names its role.

import { el, type Part, rowsOf } from '../dom.js'

/** `number`: right-aligned, in figures of one width. */
export interface Column {
  readonly title: string
  readonly kind?: 'number' | 'text' | 'acts'
}

export interface Table<T> extends Part<readonly T[]> {
  readonly body: HTMLElement
}

/**
 * A table whose rows are kept by key.
 * @param cells makes a row's cells, and the function that updates them
 */
export function table<T>(
  caption: string,
  columns: readonly Column[],
  keyOf: (row: T) => string,
  cells: (row: T) => { cells: readonly HTMLElement[]; update: (row: T) => void },
): Table<T> {
  const head = columns.map(({ title, kind = 'text' }) =>
    el(
      'th',
      { role: 'columnheader', scope: 'col', class: kind },
      kind === 'acts' ? el('span', 'hidden', title) : title,
    ),
  )
  const body = el('tbody', { role: 'rowgroup' })
  const element = el(
    'table',
    { role: 'table', class: 'rows' },
    el('caption', 'hidden', caption),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)),
    body,
  )
  const update = rowsOf(body, keyOf, (row: T) => {
    const made = cells(row)
    const boxes = made.cells.map((content, i) => {
      const { title = '', kind = 'text' } = columns[i] ?? {}
      const label = kind === 'acts' ? '' : title
      return el('td', { role: 'cell', class: kind, 'data-label': label }, content)
    })
    return { element: el('tr', { role: 'row' }, ...boxes), update: made.update }
  })
  return { element, body, update }
}
