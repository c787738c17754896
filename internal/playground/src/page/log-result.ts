// How the limits would have decided on a log.

import { ALGORITHMS } from '../algorithms.js'
import type { AlgorithmResult, LogResult, Span } from '../log/messages.js'
import { type Settings, WINDOWS } from '../settings.js'
import { element } from './dom.js'
import { countText, requestsText, shareText, timeText } from './texts.js'

export function resultOf(result: LogResult, settings: Settings): HTMLElement {
  if (result.requests === 0)
    return element(
      'div',
      { class: 'log-result' },
      element(
        'p',
        { class: 'problems', role: 'alert' },
        'There is no request in it that can be read.',
      ),
      ...brokenOf(result),
    )
  return element(
    'div',
    { class: 'log-result' },
    element('p', { class: 'status', role: 'status' }, statusOf(result)),
    ...result.notes.map((note) => element('p', { class: 'says' }, note)),
    element('div', { class: 'scroll' }, tableOf(result, settings)),
    ...worstOf(result),
    ...brokenOf(result),
  )
}

const FORMATS: Readonly<Record<string, string>> = {
  clf: 'Common or Combined Log Format',
  'nginx-json': 'JSON of nginx',
  caddy: 'JSON of Caddy',
  json: 'lines of JSON',
  har: 'an HTTP Archive',
}

function statusOf({ requests, keys, format }: LogResult): string {
  const what = `${requestsText(requests)} of ${countText(keys)} ${keys === 1 ? 'key' : 'keys'}`
  return `${what}, read as ${FORMATS[format ?? ''] ?? format}.`
}

function tableOf({ algorithms, requests, keys }: LogResult, settings: Settings): HTMLElement {
  const names = ['algorithm', 'refused', 'keys affected', 'most in any window', 'bound']
  const head = names.map((name, i) =>
    element('th', { scope: 'col', class: i === 0 ? undefined : 'number' }, name),
  )
  const rows = algorithms.map((each) => rowOf(each, requests, keys, settings))
  return element(
    'table',
    { class: 'log-table' },
    element('caption', { class: 'visually-hidden' }, 'What each algorithm would have refused'),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  )
}

function rowOf(
  { id, refused, keysAffected, most, windowMs, bound }: AlgorithmResult,
  requests: number,
  keys: number,
  settings: Settings,
): HTMLElement {
  const algorithm = ALGORITHMS.find((each) => each.id === id)
  const other = ofWindow(windowMs, settings)
  const over = most > settings.limit && other === '' ? ' over' : ''
  const cell = (text: string, kind = ''): HTMLElement =>
    element('td', { class: `number${kind}` }, text)
  return element(
    'tr',
    { 'data-log': id },
    element('th', { scope: 'row' }, algorithm?.title ?? id),
    cell(spanText(refused, requests)),
    cell(spanText(keysAffected, keys)),
    cell(`${countText(most)}${other}`, over),
    cell(bound === undefined ? '–' : countText(bound)),
  )
}

/** The window's length, if it is not the one in the settings. */
function ofWindow(windowMs: number | undefined, { window }: Settings): string {
  if (windowMs === undefined || Math.abs(windowMs - WINDOWS[window]) < 1) return ''
  return ` in ${timeText(windowMs, windowMs)}`
}

function spanText([least, most]: Span, all: number): string {
  const from = shareText(least, all)
  const to = shareText(most, all)
  return from === to ? from : `${from} to ${to}`
}

/** The keys that the default would have refused most. */
function worstOf({ algorithms }: LogResult): HTMLElement[] {
  const first = algorithms[0]
  if (first === undefined || first.worst.length === 0) return []
  const title = ALGORITHMS.find(({ id }) => id === first.id)?.title ?? first.id
  const rows = first.worst.map(({ key, refused, requests }) =>
    element('li', {}, element('code', {}, key), ` ${countText(refused)} of ${countText(requests)}`),
  )
  return [
    element('h3', {}, `Refused most, by ${title.toLowerCase()}`),
    element('ol', { class: 'broken', id: 'log-worst' }, ...rows),
  ]
}

function brokenOf({ brokenCount, broken, lines }: LogResult): HTMLElement[] {
  if (brokenCount === 0) return []
  const rows = broken.map(({ line, text, why }) =>
    element('li', {}, `line ${countText(line)}, ${why}: `, element('code', {}, text)),
  )
  const heading = `${countText(brokenCount)} of ${countText(lines)} lines could not be read`
  return [element('h3', {}, heading), element('ul', { class: 'broken', id: 'log-broken' }, ...rows)]
}
