// Live limits: what is set, which keys have an override, what was changed, and which processes have
// applied it.

import type { Frame, LiveFrame } from '../../protocol.js'
import { el, type Part, rowButton, rowsOf, setAttribute, setText } from '../dom.js'
import { clock, count, counted, duration, shown } from '../format.js'
import { behind } from '../verdict.js'
import { changeWords, policyWords } from '../words.js'

type LivePolicy = LiveFrame['policies'][number]
type LiveOverride = LiveFrame['overrides'][number]
type Change = LiveFrame['history'][number]
type HolderData = LiveFrame['processes'][number] & { readonly isKnown: boolean }

export interface LiveActs {
  readonly set: (live: LiveFrame, policy: LivePolicy) => void
  readonly unset: (live: LiveFrame, policy: LivePolicy) => void
  readonly override: (live: LiveFrame) => void
  readonly remove: (live: LiveFrame, override: LiveOverride) => void
  readonly rollBack: (live: LiveFrame, change: Change) => void
}

export function liveLimits(acts: LiveActs): Part<Frame> {
  const all = el('div', 'lives')
  const none = el('p', 'muted small', 'No live policies are watched: limits are those of the code.')
  const fill = rowsOf(
    all,
    ({ id }: LiveFrame) => id,
    () => oneLive(acts),
  )
  return {
    element: el('div', '', all, none),
    update({ live }) {
      fill(live)
      none.hidden = live.length > 0
    },
  }
}

function oneLive(acts: LiveActs): Part<LiveFrame> {
  let latest: LiveFrame | undefined
  const withLive = (act: (live: LiveFrame) => void): void => {
    if (latest !== undefined) act(latest)
  }
  const name = el('bdi')
  const state = el('span', 'pill')
  const about = el('p', 'muted small')
  const policies = el('ul', 'set')
  const fillPolicies = rowsOf(
    policies,
    (row: LivePolicy) => row.name,
    () => policyLine((act, row) => withLive((live) => acts[act](live, row))),
  )
  const overrides = listOf(
    'Overrides',
    (row: LiveOverride) => row.handle,
    () => overrideLine((row) => withLive((live) => acts.remove(live, row))),
  )
  const history = listOf(
    'Changes',
    (row: Change) => String(row.version),
    () => changeLine((row) => withLive((live) => acts.rollBack(live, row))),
  )
  const holders = listOf('Processes', (row: HolderData) => row.process, holderLine)
  const add = rowButton(
    () => 'Override a key…',
    acts.override,
    () => 'Override a key…',
  )
  return {
    element: el(
      'article',
      'live',
      el('header', '', el('h3', '', name), state),
      about,
      policies,
      overrides.element,
      add.element,
      history.element,
      holders.element,
    ),
    update(live) {
      latest = live
      add.update(live)
      setText(name, shown(live.id))
      setAttribute(state, 'data-kind', live.isCurrent ? 'good' : 'fair')
      setText(
        state,
        live.isCurrent
          ? `version ${count(live.version)}`
          : `version ${count(live.version)} when last heard`,
      )
      setText(about, aboutOf(live))
      fillPolicies(live.policies)
      const hidden = live.overrideCount - live.overrides.length
      overrides.update(
        live.overrides,
        hidden > 0
          ? `${count(live.overrideCount)}, the first ${count(live.overrides.length)} are shown`
          : count(live.overrideCount),
      )
      history.update(live.history, count(live.history.length))
      holders.update(
        live.processes.map((row) => ({ ...row, isKnown: live.isCurrent })),
        holdersWords(live),
      )
    },
  }
}

/** What was listed last says nothing about now while the store is not heard. */
function holdersWords(live: LiveFrame): string {
  const all = count(live.processes.length)
  if (!live.isCurrent)
    return live.listedAtMs === undefined
      ? all
      : `${all} at ${clock(live.listedAtMs)}, now not known`
  const others = behind(live)
  return others === 0 ? `${all}, all current` : `${count(others)} of ${all} differ`
}

function aboutOf({ heardMsAgo, pending, refused }: LiveFrame): string {
  const words = [
    heardMsAgo === undefined ? 'the store was not heard yet' : `heard ${duration(heardMsAgo)} ago`,
  ]
  if (pending > 0) words.push(`${counted(pending, 'change')} to come`)
  if (refused > 0) words.push(`${counted(refused, 'policy', 'policies')} refused`)
  return words.join(' · ')
}

/** A list that can be opened, with its length. */
function listOf<T>(
  title: string,
  keyOf: (row: T) => string,
  make: () => Part<T>,
): { element: HTMLElement; update: (rows: readonly T[], note: string) => void } {
  const list = el('ul', { class: 'live-list', tabindex: 0, 'aria-label': title })
  const note = el('span', 'muted')
  const fill = rowsOf(list, keyOf, make)
  const element = el('details', '', el('summary', '', `${title} `, note), list)
  return {
    element,
    update(rows, text) {
      element.hidden = rows.length === 0
      fill(rows)
      setText(note, text)
    },
  }
}

/** A name, words, and what else there is to say about a row, with buttons. */
function line<T>(
  textsOf: (row: T) => readonly [name: string, words: string, more: string],
  ...acts: readonly Part<T>[]
): Part<T> {
  const texts = [el('bdi', 'strong'), el('span'), el('span', 'muted small')] as const
  const doings = acts.map(({ element }) => element)
  return {
    element: el('li', '', el('div', 'stack', ...texts), el('div', 'doings', ...doings)),
    update(row) {
      for (const [i, text] of textsOf(row).entries()) setText(texts[i] as HTMLElement, text)
      for (const act of acts) act.update(row)
    },
  }
}

function policyLine(act: (act: 'set' | 'unset', row: LivePolicy) => void): Part<LivePolicy> {
  const change = rowButton<LivePolicy>(
    () => 'Change…',
    (row) => act('set', row),
    ({ name }) => `Change ${shown(name)}…`,
  )
  const back = rowButton<LivePolicy>(
    () => 'Unset…',
    (row) => act('unset', row),
    ({ name }) => `Unset ${shown(name)}…`,
  )
  return line(
    ({ name, policy, default: standard }) => {
      back.element.hidden = standard === undefined
      const code =
        standard === undefined ? 'as in the code' : `the code has: ${policyWords(standard)}`
      return [shown(name), policyWords(policy), code]
    },
    change,
    back,
  )
}

function overrideLine(remove: (row: LiveOverride) => void): Part<LiveOverride> {
  const whose = ({ kind, key }: LiveOverride): string => shown(key) + (kind === 'prefix' ? '…' : '')
  const label = (row: LiveOverride): string => `Remove the override of ${whose(row)}…`
  return line(
    (row) => [whose(row), `${shown(row.name)}, ${policyWords(row.policy)}`, ''],
    rowButton(() => 'Remove…', remove, label),
  )
}

function changeLine(rollBack: (row: Change) => void): Part<Change> {
  const label = ({ version }: Change): string => `Roll back to version ${version}…`
  return line(
    ({ version, what, was, policy, madeAtMs }) => [
      `${count(version)} ${shown(what, 200)}`,
      policy === undefined ? 'no longer set' : changeWords(was, policy) || 'as it was',
      clock(madeAtMs),
    ],
    rowButton(() => 'Roll back…', rollBack, label),
  )
}

function holderLine(): Part<HolderData> {
  const name = el('bdi')
  const state = el('span', 'pill')
  const refused = el('span', 'muted small')
  return {
    element: el('li', '', el('div', 'stack', name, refused), state),
    update(row) {
      setText(name, shown(row.process))
      const kind = row.isCurrent && row.refused.length === 0 ? 'good' : 'fair'
      setAttribute(state, 'data-kind', row.isKnown ? kind : 'idle')
      setText(state, `version ${count(row.version)}${row.isCurrent ? '' : ', behind'}`)
      setText(
        refused,
        row.refused.length === 0
          ? ''
          : `refuses ${row.refused.map((each) => shown(each, 200)).join('; ')}`,
      )
    },
  }
}
