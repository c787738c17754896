// The processes that have reported.

import type { Frame, ProcessFrame } from '../../protocol.js'
import { el, type Part, rowsOf, setAttribute, setText } from '../dom.js'
import { bytes, clock, count, counted, minute, NOTHING, shown } from '../format.js'
import { healthOf, healthWords, isMissing, worstOf } from '../verdict.js'
import { table } from './table.js'

const COLUMNS = [
  { title: 'Process' },
  { title: 'Store' },
  { title: 'Allowed', kind: 'number' },
  { title: 'Denied', kind: 'number' },
  { title: 'Shadow denied', kind: 'number' },
  { title: 'Degraded', kind: 'number' },
  { title: 'Errors', kind: 'number' },
  { title: 'Waiting', kind: 'number' },
  { title: 'Memory', kind: 'number' },
  { title: 'Limiters' },
] as const

export function fleet(): Part<Frame> {
  const rows = table(
    'Processes that have reported',
    COLUMNS,
    ({ row }: ProcessData) => row.process,
    processRow,
  )
  const about = el('p', 'muted small')
  return {
    element: el('div', 'panel', rows.element, about),
    update(frame) {
      // While the store is away, what others said last may no longer be so.
      const isSilent = frame.stores.some(isMissing)
      const own = worstOf(frame.stores.map(healthOf))
      const of = ({ isThis, health }: ProcessFrame) =>
        isThis ? own : isSilent ? undefined : health
      rows.update(frame.fleet.map((row) => ({ row, health: of(row) })))
      const isAlone = frame.fleet.length < 2 && own !== 'asked'
      const words = isSilent
        ? 'The store does not answer, so other processes may be missing.'
        : isAlone
          ? 'No other process has reported. While somebody watches, processes with a dashboard on the same store do.'
          : ''
      setText(about, words)
    },
  }
}

interface ProcessData {
  readonly row: ProcessFrame
  readonly health: ReturnType<typeof healthOf> | undefined
}

function processRow(): { cells: readonly HTMLElement[]; update: (data: ProcessData) => void } {
  const name = el('bdi', 'strong')
  const about = el('span', 'muted small')
  const health = el('span', 'pill')
  const numbers = COLUMNS.slice(2, 9).map(() => el('span'))
  const off = el('summary')
  const lines = el('ul', 'process-limiters')
  const fill = rowsOf(lines, ({ name }: Limiter) => name, limiterLine)
  const limiters = el('details', 'small', off, lines)
  return {
    cells: [el('div', 'stack', name, about), health, ...numbers, limiters],
    update({ row, health: state }) {
      setText(name, shown(row.process))
      const here = row.isThis ? 'this process, ' : ''
      const since = minute(row.atMs - row.uptimeMs)
      setText(about, `${here}up since ${since}, seen ${clock(row.atMs)}`)
      const [kind, words] = healthWords(state)
      setAttribute(health, 'data-kind', kind)
      setText(health, words)
      const sum = (
        of: 'allowed' | 'denied' | 'shadowDenied' | 'degraded' | 'errors' | 'waiting',
      ): number => row.limiters.reduce((all, limiter) => all + limiter[of], 0)
      const texts = [
        count(sum('allowed')),
        count(sum('denied')),
        count(sum('shadowDenied')),
        count(sum('degraded')),
        count(sum('errors')),
        count(sum('waiting')),
        bytes(row.memoryBytes),
      ]
      for (const [i, text] of texts.entries()) setText(numbers[i] as HTMLElement, text)
      setText(off, limiterWords(row))
      fill(row.limiters)
    },
  }
}

function limiterWords({ limiters }: ProcessFrame): string {
  const off = limiters.filter(({ enabled }) => !enabled).map(({ name }) => shown(name))
  if (limiters.length === 0) return NOTHING
  const all = counted(limiters.length, 'limiter')
  return off.length === 0 ? all : `${all}, off: ${off.join(', ')}`
}

type Limiter = ProcessFrame['limiters'][number]

/** The counts of one limiter in a process. */
function limiterLine({ name }: Limiter): Part<Limiter> {
  const numbers = el('span')
  const keys = el('span', 'muted')
  return {
    element: el('li', '', el('bdi', 'strong', shown(name)), ' ', numbers, keys),
    update({ enabled, allowed, denied, refusedKeys }) {
      const state = enabled ? '' : 'off, '
      setText(numbers, `${state}${count(allowed)} allowed, ${count(denied)} denied`)
      const most = refusedKeys.map(({ key, count: times, error }) => {
        const least = error === 0 ? '' : `${count(times - error)}–`
        return `${shown(key)} ${least}${count(times)}`
      })
      setText(keys, most.length === 0 ? '' : `; refused most: ${most.join(', ')}`)
    },
  }
}
