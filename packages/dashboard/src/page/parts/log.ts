// The actions that were noted.

import type { ActionNote, Frame } from '../../protocol.js'
import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import { clock, shown } from '../format.js'

const KINDS = { done: 'good', refused: 'fair', failed: 'bad' } as const

export function log(): Part<Frame> {
  const list = el('ol', { class: 'log', tabindex: 0, 'aria-label': 'What was done' })
  const none = el('p', 'muted small')
  const fill = rowsOf(list, keyOf, () => note())
  return {
    element: el('div', 'panel', list, none),
    update({ actions, viewer }) {
      fill(actions)
      none.hidden = actions.length > 0
      setText(
        none,
        viewer.mayAct
          ? 'Nothing has been changed from this page.'
          : 'This page is read-only for you. To change something here takes the option “actions: true”, and an “authorize” that lets you act.',
      )
    },
  }
}

function keyOf({ atMs, who, what }: ActionNote): string {
  return `${atMs} ${who} ${what}`
}

function note(): Part<ActionNote> {
  const outcome = el('span', 'pill')
  const what = el('span')
  const about = el('span', 'muted small')
  return {
    element: el('li', '', el('div', 'line', what, outcome), about),
    update({ atMs, who, what: text, outcome: how, why }) {
      setText(what, shown(text, 300))
      setAttribute(outcome, 'data-kind', KINDS[how])
      setText(outcome, how)
      setText(
        about,
        `${clock(atMs)} · ${shown(who)}${why === undefined ? '' : ` · ${shown(why, 300)}`}`,
      )
    },
  }
}
