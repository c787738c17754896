// How much of one policy's limit is left to a key.

import type { Lookup } from '../../protocol.js'
import { el } from '../dom.js'
import { count, duration, shown } from '../format.js'

type Row = Lookup['policies'][number]

const FROM = {
  code: '',
  live: 'live limit',
  key: 'override of this key',
  prefix: 'override of a prefix',
} as const

export function gauge(row: Row): HTMLElement {
  const { limit, remaining } = row
  const left = limit === null || remaining === null ? 1 : limit === 0 ? 0 : remaining / limit
  const kind = left <= 0 || row.block?.blocked === true ? 'bad' : left <= 0.2 ? 'fair' : 'good'
  const words =
    limit === null || remaining === null
      ? 'unlimited'
      : `${count(remaining)} of ${count(limit)} left`
  const fill = el('span', 'fill')
  fill.style.width = `${Math.round(100 * Math.min(1, Math.max(0, left)))}%`
  const about = [
    row.algorithm.replaceAll('-', ' '),
    ...(row.windowMs === undefined ? [] : [`in ${duration(row.windowMs)}`]),
    FROM[row.from],
  ].filter((each) => each !== '')
  return el(
    'li',
    'gauge',
    el('div', 'line', el('bdi', 'strong', shown(row.policy)), el('span', 'figure', words)),
    el('div', { class: 'meter', 'data-kind': kind, 'aria-hidden': 'true' }, fill),
    el('p', 'muted small', `${shown(about.join(' · '))} · ${passes(row)}`),
  )
}

/** When a request passes, and when the key is as new. */
function passes({ retryAfterMs, resetAfterMs, block }: Row): string {
  const again =
    retryAfterMs === 0
      ? 'passes now'
      : retryAfterMs === null
        ? 'never passes'
        : `passes in ${duration(retryAfterMs)}`
  const fresh = resetAfterMs > 0 ? `, as new in ${duration(resetAfterMs)}` : ''
  const level =
    block === undefined
      ? ''
      : ` · block level ${count(block.level)}${block.blocked ? ', blocked' : ''}`
  return `${again}${fresh}${level}`
}
