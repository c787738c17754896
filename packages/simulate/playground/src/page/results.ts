// Runs the traffic under each algorithm, and shows the results.

import { ALGORITHMS } from '../algorithms.js'
import { runOf } from '../run.js'
import { type Settings, WINDOWS } from '../settings.js'
import { type Traffic, trafficOf } from '../traffic.js'
import { cardOf, type Shown, tableOf } from './cards.js'
import { byId } from './dom.js'
import { requestsText } from './texts.js'

/** All algorithms under the same traffic. */
export function runsOf(settings: Settings): readonly Shown[] {
  const traffic = trafficOf(settings)
  const windowMs = WINDOWS[settings.window]
  const runs = ALGORITHMS.map((algorithm) => {
    return { algorithm, run: runOf(algorithm.policy(settings), traffic, windowMs) }
  })
  const tallest = Math.max(1, ...runs.map(({ run }) => tallestOf(run.columns)))
  const largest = Math.max(...ALGORITHMS.map(({ bound }) => bound(settings)))
  return runs.map((each) => ({ ...each, settings, traffic, tallest, largest }))
}

function tallestOf({ passed, refused }: Readonly<Record<'passed' | 'refused', readonly number[]>>) {
  return passed.reduce((most, count, i) => Math.max(most, count, refused[i] as number), 0)
}

export function showResults(settings: Settings): void {
  const all = runsOf(settings)
  byId('summary').replaceChildren(tableOf(all))
  byId('cards').replaceChildren(...all.map(cardOf))
  byId('status').textContent = statusOf(settings, (all[0] as Shown).traffic)
}

function statusOf({ window, windows }: Settings, { arrivals, keys }: Traffic): string {
  const from = keys.length > 1 ? `from ${keys.join(' and ')}` : `from ${keys[0]}`
  const time = windows === 1 ? `in a window of ${window}` : `in ${windows} windows of ${window}`
  return `${requestsText(arrivals.length)} ${from}, ${time}, the same for all.`
}
