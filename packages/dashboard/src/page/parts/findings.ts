// What is not well besides what the head of the page says first.

import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import type { Finding } from '../verdict.js'

export function findings(): Part<readonly Finding[]> {
  const element = el('ul', {
    id: 'findings',
    class: 'findings',
    'aria-label': 'What else is not well',
  })
  const fill = rowsOf(element, ([, text]: Finding) => text, finding)
  return {
    element,
    update(all) {
      element.hidden = all.length < 2
      fill(all.slice(1))
    },
  }
}

function finding(): Part<Finding> {
  const words = el('span')
  const element = el('li', '', el('span', { class: 'dot', 'aria-hidden': 'true' }), words)
  return {
    element,
    update([kind, text]) {
      setAttribute(element, 'data-kind', kind)
      setText(words, text)
    },
  }
}
