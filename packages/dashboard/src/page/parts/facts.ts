// Figures with their names.

import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'

/** A name, its figure, and what it means in a sentence. */
export type Fact = readonly [name: string, value: string, meaning?: string]

export function facts(kind = 'facts'): Part<readonly Fact[]> {
  const element = el('dl', kind)
  const update = rowsOf(element, ([name]: Fact) => name, fact)
  return { element, update }
}

function fact([name]: Fact): Part<Fact> {
  const value = el('dd')
  return {
    element: el('div', '', el('dt', '', name), value),
    update([, text, meaning]) {
      setText(value, text)
      setAttribute(value, 'title', meaning)
    },
  }
}
