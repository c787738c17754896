// How each algorithm decides on the traffic: a card, and a row of the table.

import type { Algorithm } from '../algorithms.js'
import type { Run } from '../run.js'
import { type Settings, WINDOWS } from '../settings.js'
import type { Traffic } from '../traffic.js'
import { type Frame, gauge, leftover, ticks } from './charts.js'
import { element } from './dom.js'
import { countText, shareText, timeText } from './texts.js'

/** An algorithm's run, with all that is needed to show it. */
export interface Shown {
  readonly algorithm: Algorithm
  readonly run: Run
  readonly settings: Settings
  readonly traffic: Traffic
  /** The most requests in a column. */
  readonly tallest: number
  /** The largest bound of all algorithms. */
  readonly largest: number
}

export function cardOf(shown: Shown): HTMLElement {
  const { algorithm, run, settings, traffic } = shown
  const title = element('h3', { id: `title-${algorithm.id}` }, algorithm.title)
  const heading = element('header', {}, title, element('p', { class: 'says' }, algorithm.says))
  const capacity = capacityOf(shown)
  const picture = ticks(run.columns, shown.tallest, frameOf(shown, ticksLabel(shown)))
  const left = leftover(run.columns.left, capacity, frameOf(shown, leftLabel(shown, capacity)))
  return element(
    'article',
    { class: 'card', id: algorithm.id, 'aria-labelledby': `title-${algorithm.id}` },
    heading,
    figures(shown),
    element('figure', {}, picture, leftCaption(traffic, capacity), left, axis(settings, traffic)),
    element('p', { class: 'call' }, element('code', {}, algorithm.call(settings))),
  )
}

function figures({ algorithm, run, settings, largest }: Shown): HTMLElement {
  const { most, requests, passed, refused } = run
  const bound = algorithm.bound(settings)
  const over = most.count > settings.limit ? 'value over' : 'value'
  const figure = (name: string, text: string, what: string, kind = 'value'): HTMLElement =>
    element(
      'div',
      {},
      element('dt', {}, what),
      element('dd', { class: kind, 'data-figure': name }, text),
    )
  const list = element(
    'dl',
    { class: 'figures' },
    figure('passed', countText(passed), 'passed'),
    figure('refused', shareText(refused, requests), 'refused'),
    figure('most', countText(most.count), `most in ${settings.window}`, over),
    figure('bound', countText(bound), 'bound'),
  )
  const because = element('p', { class: 'because' }, `Bound: ${algorithm.because}.`)
  const scale = gauge(most.count, settings.limit, bound, largest)
  return element('div', { class: 'measures' }, list, scale, because)
}

/** The most that can be left. */
function capacityOf({ algorithm, settings }: Shown): number {
  return algorithm.policy(settings).limit
}

function frameOf({ algorithm, run, settings, traffic }: Shown, label: string): Frame {
  const { endMs } = traffic
  const { count, fromMs } = run.most
  const shaded = count === 0 ? undefined : { fromMs, ms: WINDOWS[settings.window] }
  return { endMs, edgesMs: algorithm.isOnClock ? traffic.edgesMs : [], shaded, label }
}

function ticksLabel({ run, settings, traffic }: Shown): string {
  const { passed, refused, most } = run
  const windowMs = WINDOWS[settings.window]
  const from = timeText(most.fromMs, windowMs)
  const whose = traffic.keys.length > 1 ? ` of ${traffic.keys[most.key]}` : ''
  const counts = `Over time: ${countText(passed)} passed, ${countText(refused)} refused.`
  return `${counts} Most in any ${settings.window}: ${countText(most.count)}${whose}, from ${from} on.`
}

function leftLabel({ run, traffic }: Shown, capacity: number): string {
  const lowest = run.columns.left.map((left, key) => {
    const last = left.at(-1) ?? 0
    const range = `at least ${countText(Math.min(...left))}, at the end ${countText(last)}`
    return `${traffic.keys[key]}: ${range}`
  })
  return `Left over time, of ${countText(capacity)}. ${lowest.join('. ')}.`
}

/** The caption of the second picture. */
function leftCaption({ keys }: Traffic, capacity: number): HTMLElement {
  const [first, second] = keys
  const whose = second === undefined ? '' : `: ${first} solid, ${second} dashed`
  return element('p', { class: 'left-caption' }, `left, of ${countText(capacity)}${whose}`)
}

/** The times under the pictures. */
function axis({ window }: Settings, { endMs }: Traffic): HTMLElement {
  const windowMs = WINDOWS[window]
  const times = [0, 1 / 2, 1].map((part) => element('span', {}, timeText(part * endMs, windowMs)))
  return element('div', { class: 'axis-times', 'aria-hidden': 'true' }, ...times)
}

/** The pictures in numbers, with a row for each algorithm. */
export function tableOf(all: readonly Shown[]): HTMLElement {
  const { window } = (all[0] as Shown).settings
  const names = ['algorithm', 'passed', 'refused', `most in any ${window}`, 'bound']
  const head = names.map((name, i) => {
    const kind = i === 0 ? undefined : i === 1 ? 'number wide' : 'number'
    return element('th', { scope: 'col', class: kind }, name)
  })
  const rows = all.map(({ algorithm, run, settings }) => {
    const over = run.most.count > settings.limit ? ' over' : ''
    return element(
      'tr',
      { 'data-algorithm': algorithm.id },
      element('th', { scope: 'row' }, algorithm.title),
      element('td', { class: 'number wide' }, countText(run.passed)),
      element('td', { class: 'number' }, shareText(run.refused, run.requests)),
      element('td', { class: `number${over}` }, countText(run.most.count)),
      element('td', { class: 'number' }, countText(algorithm.bound(settings))),
    )
  })
  return element(
    'table',
    { class: 'summary' },
    element('caption', { class: 'visually-hidden' }, 'What each algorithm makes of the traffic'),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...rows),
  )
}
