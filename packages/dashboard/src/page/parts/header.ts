// The header: which process the figures are from, and how old they are.

import type { Frame } from '../../protocol.js'
import { button, el, type Part, setAttribute, setText } from '../dom.js'
import { clock, counted, duration, shown } from '../format.js'
import { mark } from '../icons.js'
import type { Link } from '../stream.js'

/** Figures older than this are shown as old. */
export const STALE_MS = 3_000

export interface HeaderData {
  readonly frame: Frame | undefined
  readonly link: Link
  /** How long ago the last frame came. */
  readonly ageMs: number
  readonly isPaused: boolean
}

/** The connection's state: in one word, for the style, and as a text. */
interface State {
  readonly kind: 'live' | 'stale' | 'busy' | 'failed' | 'paused'
  readonly text: string
}

function stateOf({ frame, link, ageMs, isPaused }: HeaderData): State {
  const since = frame === undefined ? '' : ` since ${clock(frame.atMs)}`
  if (link.state === 'refused') return { kind: 'failed', text: 'Not allowed' }
  if (link.state === 'waiting') return { kind: 'failed', text: `Disconnected${since}` }
  if (isPaused) return { kind: 'paused', text: `Paused${since}` }
  if (link.state === 'resting') return { kind: 'paused', text: `At rest${since}` }
  if (link.state === 'connecting')
    return { kind: 'busy', text: frame === undefined ? 'Connecting' : 'Reconnecting' }
  return ageMs > STALE_MS
    ? { kind: 'stale', text: `Stale${since}` }
    : { kind: 'live', text: 'Live' }
}

const PLACES = [
  ['health', 'Health'],
  ['keys', 'Keys'],
  ['limiters', 'Limiters'],
  ['live', 'Live limits'],
  ['fleet', 'Fleet'],
] as const

export function header(onPause: () => void): Part<HeaderData> {
  const dot = el('span', { class: 'dot', 'aria-hidden': 'true' })
  const words = el('span')
  const state = el('span', 'pill state', dot, words)
  const process = el('bdi', 'process')
  const fleet = el('span', 'fact')
  const viewer = el('span', 'fact')
  const pause = button('Pause', onPause, 'button quiet')
  const links = PLACES.map(([id, text]) => el('a', { href: `#${id}` }, text))
  const element = el(
    'div',
    'bar',
    el('h1', 'brand', mark(), 'Weir', el('span', 'hidden', ' dashboard')),
    el('div', 'whose', process, fleet, viewer),
    el('nav', { class: 'places', 'aria-label': 'Parts of this page' }, ...links),
    el('div', 'controls', state, pause),
  )
  return {
    element,
    update(data) {
      const { kind, text } = stateOf(data)
      setAttribute(state, 'data-kind', kind)
      setText(words, text)
      setText(pause, data.isPaused ? 'Resume' : 'Pause')
      setAttribute(pause, 'aria-pressed', data.isPaused ? 'true' : 'false')
      const { frame } = data
      if (frame === undefined) return
      setText(process, shown(frame.process))
      setText(fleet, counted(frame.fleet.length, 'process', 'processes'))
      setText(viewer, frame.viewer.name === undefined ? '' : shown(frame.viewer.name))
    },
  }
}

/** Says what is wrong with the connection and what to do; empty while all is well. */
export function notice(onRetry: () => void): Part<HeaderData> {
  const title = el('h2')
  const text = el('p')
  const more = el('p', 'muted')
  const again = button('Try again now', onRetry)
  const element = el('div', { class: 'notice', hidden: true }, title, text, more, again)
  return {
    element,
    update(data) {
      const said = noticeOf(data)
      element.hidden = said === undefined
      if (said === undefined) return
      setAttribute(element, 'data-kind', said.kind)
      setText(title, said.title)
      setText(text, said.text)
      setText(more, said.more)
      again.hidden = !said.canRetry
    },
  }
}

interface Said {
  readonly kind: 'failed' | 'stale' | 'busy'
  readonly title: string
  readonly text: string
  readonly more: string
  readonly canRetry: boolean
}

function noticeOf({ frame, link, ageMs, isPaused }: HeaderData): Said | undefined {
  const old = frame === undefined ? '' : `The figures below are from ${clock(frame.atMs)}.`
  if (link.state === 'refused') return refusal(link.status, link.reason)
  if (link.state === 'waiting') {
    const inMs = Math.max(0, link.retryAtMs - Date.now())
    const text = `${shown(link.reason, 300)} Next attempt in ${Math.ceil(inMs / 1_000)} s.`
    return { kind: 'failed', title: 'No connection', text, more: old, canRetry: true }
  }
  if (frame === undefined)
    return {
      kind: 'busy',
      title: 'Connecting…',
      text: 'The first figures come within a second or two.',
      more: '',
      canRetry: false,
    }
  if (link.state === 'live' && !isPaused && ageMs > STALE_MS) {
    const text = `No figures for ${duration(Math.floor(ageMs / 1_000) * 1_000)}.`
    return { kind: 'stale', title: 'Stale', text, more: old, canRetry: true }
  }
  return undefined
}

function refusal(status: number, reason: string): Said {
  const text = shown(reason, 300)
  if (status === 401)
    return {
      kind: 'failed',
      title: 'This page needs its token',
      text: 'The server prints the page’s address with a token when it starts, and makes another token each time. Open the address of the last start: look for “dashboard” in its log.',
      more: text,
      canRetry: true,
    }
  return {
    kind: 'failed',
    title: 'You may not see this page',
    text: 'The server knows who you are, and does not let you in. Whoever runs it decides that, with the option “authorize”.',
    more: text,
    canRetry: true,
  }
}
