// The page: takes the frames, keeps their history, and updates its parts.

import type { Frame } from '../protocol.js'
import { keyActs, liveActs, switching } from './actions.js'
import { byId, type Part, setAttribute, setText } from './dom.js'
import { shown } from './format.js'
import { Durations, degradedOf, Rates, totalsOf } from './history.js'
import { fleet } from './parts/fleet.js'
import { type HeaderData, header, notice, STALE_MS } from './parts/header.js'
import { health } from './parts/health.js'
import { limiters } from './parts/limiters.js'
import { liveLimits } from './parts/live.js'
import { log } from './parts/log.js'
import { lookup } from './parts/lookup.js'
import { connect, type Link } from './stream.js'

/** The histories of one kind of thing, by name. */
function kept<T extends { clear(): void }>(
  make: () => T,
): { readonly of: (id: string) => T; readonly clear: () => void } {
  const all = new Map<string, T>()
  return {
    of(id) {
      const one = all.get(id) ?? make()
      all.set(id, one)
      return one
    },
    clear() {
      for (const one of all.values()) one.clear()
    },
  }
}

const rates = kept(() => new Rates())
const durations = kept(() => new Durations())
const durationsOf = (store: string, node: string): Durations => durations.of(`${store} ${node}`)

function remember(frame: Frame): void {
  for (const limiter of frame.limiters)
    rates.of(limiter.id).push(frame.atMs, totalsOf(limiter), degradedOf(limiter))
  for (const store of frame.stores)
    for (const node of store.nodes) durationsOf(store.id, node.node).push(frame.atMs, node)
}

const SAID_MS = 8_000

let frame: Frame | undefined
let link: Link = { state: 'connecting' }
let cameAt = 0
let isPaused = false

const recolour: (() => void)[] = []
let saying: ReturnType<typeof setTimeout> | undefined
/** Shows a message for a while. One of kind `quiet` is only for screen readers. */
const say = (text: string, kind: 'shown' | 'quiet' = 'shown'): void => {
  clearTimeout(saying)
  setAttribute(byId('said'), 'data-kind', kind)
  setText(byId('said'), shown(text, 300))
  saying = setTimeout(() => setText(byId('said'), ''), SAID_MS)
}
const done = (what: string): void => {
  say(what)
  look.again()
}
const look = lookup(keyActs(() => frame?.live ?? [], done))
const top = header(() => {
  isPaused = !isPaused
  showLink()
  if (!isPaused) showFrame()
})
const trouble = notice(() => stream.retry())
const parts: readonly (readonly [id: string, part: Part<Frame>])[] = [
  ['health', health(durationsOf, rates.of)],
  ['keys', look],
  [
    'limiters',
    limiters({
      ratesOf: rates.of,
      lookUp: look.lookUp,
      switchTo: (limiter, enabled) => switching(limiter, enabled, done),
      onChart: (redraw) => recolour.push(redraw),
    }),
  ],
  ['live', liveLimits(liveActs(done))],
  ['log', log()],
  ['fleet', fleet()],
]

/** Shows the connection's state and the age of the figures. */
function showLink(): void {
  const ageMs = frame === undefined ? 0 : performance.now() - cameAt
  const data: HeaderData = { frame, link, ageMs, isPaused }
  top.update(data)
  trouble.update(data)
  const isOld = frame !== undefined && ageMs > STALE_MS
  const isFailed = link.state === 'waiting' || link.state === 'refused'
  setAttribute(
    byId('main'),
    'data-state',
    frame === undefined ? 'empty' : isOld || isFailed ? 'stale' : 'live',
  )
}

function showFrame(): void {
  if (frame === undefined) return
  setAttribute(document.body, 'data-may-act', frame.viewer.mayAct ? 'yes' : 'no')
  document.title = `Weir · ${shown(frame.process, 40)}`
  for (const [, part] of parts) part.update(frame)
}

byId('header').append(top.element)
byId('notice').append(trouble.element)
for (const [id, part] of parts) byId(id).append(part.element)

const stream = connect(
  'events',
  (next) => {
    const isAnother = frame !== undefined && frame.process !== next.process
    if (isAnother) {
      rates.clear()
      durations.clear()
    }
    frame = next
    cameAt = performance.now()
    remember(next)
    if (!isPaused && !document.hidden) showFrame()
    showLink()
  },
  (next) => {
    const was = link.state
    link = next
    showLink()
    if (was === 'live' && next.state === 'waiting') say('The connection is lost.', 'quiet')
    if (was === 'waiting' && next.state === 'live') say('Connected again.', 'quiet')
    if (next.state === 'refused') say('The server refuses this page.', 'quiet')
  },
)
setInterval(showLink, 1_000)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && !isPaused) showFrame()
})
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const redraw of recolour) redraw()
})
