// Figures with their names.

import { el, type Part, rowsOf, setText } from '../dom.js'

/** A name, and its figure. */
export type Fact = readonly [name: string, value: string]

export function facts(): Part<readonly Fact[]> {
  const element = el('dl', 'facts')
  const update = rowsOf(element, ([name]: Fact) => name, fact)
  return { element, update }
}

function fact([name]: Fact): Part<Fact> {
  const value = el('dd')
  return {
    element: el('div', '', el('dt', '', name), value),
    update: ([, text]) => setText(value, text),
  }
}
