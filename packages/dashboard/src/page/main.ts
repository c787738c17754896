// The page: takes the frames, keeps their history, and updates its parts.

import type { Frame } from '../protocol.js'
import { pastOf } from '../totals.js'
import { keyActs, liveActs, switching } from './actions.js'
import { byId, type Part, setAttribute, setText } from './dom.js'
import { clock, minute, shown } from './format.js'
import { History } from './history.js'
import { findings } from './parts/findings.js'
import { fleet } from './parts/fleet.js'
import { type HeaderData, header, notice, STALE_MS, startOf } from './parts/header.js'
import { health } from './parts/health.js'
import { limiters } from './parts/limiters.js'
import { liveLimits } from './parts/live.js'
import { log } from './parts/log.js'
import { lookup } from './parts/lookup.js'
import { connect, type Link } from './stream.js'
import { type Finding, findingsOf } from './verdict.js'

const SAID_MS = 8_000

let history = new History()
/** The last frame, and the one that is shown. */
let latest: Frame | undefined
let frame: Frame | undefined
let found: readonly Finding[] = []
let link: Link = { state: 'connecting' }
let cameAt = 0
let isPaused = false

const recolour: (() => void)[] = []
let saying: ReturnType<typeof setTimeout> | undefined
/** Shows a message for a while. One of kind `quiet` is only for screen readers. */
const say = (text: string, kind: 'shown' | 'quiet' = 'shown'): void => {
  clearTimeout(saying)
  setAttribute(byId('said'), 'class', kind === 'quiet' && 'hidden')
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
  if (isPaused) showLink()
  else {
    frame = latest
    showFrame()
  }
})
const trouble = notice(() => stream.retry())
const all = findings()
const parts: readonly (readonly [id: string, part: Part<Frame>])[] = [
  ['health', health(() => history)],
  [
    'limiters',
    limiters({
      history: () => history,
      lookUp: look.lookUp,
      switchTo: (limiter, enabled) => switching(limiter, enabled, done),
      onChart: (redraw) => recolour.push(redraw),
    }),
  ],
  ['keys', look],
  ['live', liveLimits(liveActs(done))],
  ['log', log()],
  ['fleet', fleet()],
]

/** Of which process the figures of each section are, and since when. */
const ABOUT: Readonly<Record<string, (frame: Frame) => string>> = {
  limiters: (frame) =>
    `What this process has decided since ${minute(startOf(frame))}; the last minute since ${clock(history.recentMs ?? frame.atMs)}`,
  health: (frame) =>
    `As this process sees it: times of the last minute, counts since ${minute(startOf(frame))}`,
  live: () => 'For all processes on the store',
  log: (frame) => `Asked of this process since ${minute(startOf(frame))}, the last hundred`,
  fleet: () => 'Each counts since its own start',
}

/** Shows the connection's state and the age of the figures. */
function showLink(): void {
  const ageMs = frame === undefined ? 0 : performance.now() - cameAt
  const data: HeaderData = { frame, findings: found, link, ageMs, isPaused }
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
  found = findingsOf(frame, {
    degraded: (id) => history.ratesOf(id).recentDegraded(),
    errors: (id) => history.ratesOf(id).recent().error,
    refused: (id) => history.refusedBy(id),
  })
  all.update(found)
  for (const [id, part] of parts) {
    part.update(frame)
    const about = ABOUT[id]
    if (about !== undefined) setText(byId(`${id}-about`), about(frame))
  }
  showLink()
}

byId('header').append(top.element)
byId('notice').append(trouble.element, all.element)
for (const [id, part] of parts) byId(id).append(part.element)

const stream = connect(
  'events',
  (next) => {
    if (latest !== undefined && latest.process !== next.process) history = new History()
    for (const each of next.past ?? []) history.push(each)
    history.push(pastOf(next))
    latest = next
    if (!isPaused) frame = next
    cameAt = performance.now()
    if (isPaused || document.hidden) showLink()
    else showFrame()
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
