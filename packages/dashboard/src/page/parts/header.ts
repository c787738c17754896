// The head of the page: first, in words, whether all is well; then which process the figures are
// of, and since when.

import type { Frame } from '../../protocol.js'
import { button, el, type Part, setAttribute, setText } from '../dom.js'
import { clock, count, counted, duration, minute, shown } from '../format.js'
import { mark } from '../icons.js'
import type { Link } from '../stream.js'
import { type Finding, type State, wellWords } from '../verdict.js'

/** Figures older than this are shown as old. */
export const STALE_MS = 3_000

export interface HeaderData {
  readonly frame: Frame | undefined
  readonly findings: readonly Finding[]
  readonly link: Link
  /** How long ago the last frame came. */
  readonly ageMs: number
  readonly isPaused: boolean
}

/** The first words of the page. */
export function firstWords({ frame, findings, link, ageMs, isPaused }: HeaderData): State {
  const since = frame === undefined ? '' : ` since ${clock(frame.atMs)}`
  if (link.state === 'refused') return ['bad', 'Not allowed']
  if (link.state === 'waiting') return ['bad', `No connection to the server${since}`]
  if (frame === undefined) return ['idle', 'Connecting']
  const [first = wellWords(frame)] = findings as readonly State[]
  if (isPaused) return ['idle', `Paused at ${clock(frame.atMs)}. Then: ${first[1]}`]
  if (link.state === 'resting') return ['idle', `At rest${since}`]
  if (link.state === 'connecting') return ['idle', 'Reconnecting']
  return ageMs > STALE_MS ? ['fair', `No figures${since}`] : first
}

const PLACES = [
  ['health', 'Health'],
  ['limiters', 'Limiters'],
  ['fleet', 'Processes'],
  ['keys', 'Keys'],
  ['live', 'Live limits'],
  ['log', 'Actions'],
] as const

export function header(onPause: () => void): Part<HeaderData> {
  const words = el('span')
  const verdict = el(
    'p',
    { class: 'verdict', role: 'status' },
    el('span', { class: 'dot', 'aria-hidden': 'true' }),
    words,
  )
  const more = el('a', { class: 'more', href: '#findings' })
  const process = el('bdi', 'process')
  const [since, fleet, viewer] = [el('span'), el('span'), el('span')]
  const pause = button('Pause', onPause, 'button quiet')
  const links = PLACES.map(([id, text]) => el('a', { href: `#${id}` }, text))
  const bar = el(
    'div',
    'bar',
    el('h1', 'brand', mark(), 'Weir', el('span', 'hidden', ' dashboard')),
    el('div', 'first', verdict, more),
    pause,
  )
  const nav = el('nav', { class: 'places', 'aria-label': 'Parts of this page' }, ...links)
  const whose = el('div', 'whose', process, since, fleet, viewer)
  const element = el('div', 'contents', bar, el('div', 'under', whose, nav))
  return {
    element,
    update(data) {
      const [kind, text] = firstWords(data)
      const { frame, findings } = data
      setAttribute(bar, 'data-kind', kind)
      setText(words, text)
      more.hidden = findings.length < 2
      setText(more, `and ${count(findings.length - 1)} more`)
      setText(pause, data.isPaused ? 'Resume' : 'Pause')
      setAttribute(pause, 'aria-pressed', data.isPaused ? 'true' : 'false')
      if (frame === undefined) return
      document.title = `${text} · Weir, ${shown(frame.process, 40)}`
      setText(process, shown(frame.process))
      setText(since, `up since ${minute(startOf(frame))}`)
      setText(fleet, `${counted(frame.fleet.length, 'process', 'processes')} seen`)
      setText(viewer, frame.viewer.name === undefined ? '' : `You are ${shown(frame.viewer.name)}`)
    },
  }
}

/** When the process that answers began, in ms since the Unix epoch. */
export function startOf({ fleet, atMs }: Frame): number {
  return atMs - (fleet.find(({ isThis }) => isThis)?.uptimeMs ?? 0)
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
