// The connection that delivers frames: server-sent events, read with fetch, because an EventSource
// does not tell the status of a refusal.

import type { Frame } from '../protocol.js'

/** The connection's state. */
export type Link =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** Lost; tried again at this time, by the browser's clock. */
  | { readonly state: 'waiting'; readonly reason: string; readonly retryAtMs: number }
  /** Refused: the viewer has to do something first. */
  | { readonly state: 'refused'; readonly status: number; readonly reason: string }
  /** Closed while nobody sees the page. */
  | { readonly state: 'resting' }

export interface Stream {
  /** Tries again now. */
  readonly retry: () => void
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 30_000
/** Frames come each second, so a connection that is silent for this long is dead. */
const SILENT_MS = 10_000
/** A page in a hidden tab costs the server a frame each second, so it leaves after this time. */
const HIDDEN_MS = 300_000

export function connect(
  address: string,
  onFrame: (frame: Frame) => void,
  onLink: (link: Link) => void,
): Stream {
  let current = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  let reopenedAt = Number.NEGATIVE_INFINITY
  let link: Link = { state: 'connecting' }

  const tell = (next: Link): void => {
    link = next
    onLink(next)
  }
  const stop = (): void => {
    clearTimeout(timer)
    current.abort()
  }
  const open = (): void => {
    stop()
    const mine = new AbortController()
    current = mine
    tell({ state: 'connecting' })
    const heard = (frame: Frame): void => {
      failures = 0
      if (link.state !== 'live') tell({ state: 'live' })
      // In a task of its own, so that an error in the page is not taken for one of the connection.
      queueMicrotask(() => onFrame(frame))
    }
    void read(address, mine, heard).then((end) => {
      if (mine === current) after(end)
    })
  }
  const after = (end: End): void => {
    if ('wasAborted' in end) return
    if ('status' in end) {
      tell({ state: 'refused', ...end })
      return
    }
    // The server ends connections now and then, to check access again.
    if (end.hadFrames && performance.now() - reopenedAt > SILENT_MS) {
      reopenedAt = performance.now()
      open()
      return
    }
    const backoff = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures)
    failures += 1
    const ms = Math.max(backoff, end.retryAfterMs ?? 0)
    tell({ state: 'waiting', reason: end.reason, retryAtMs: Date.now() + ms })
    timer = setTimeout(open, ms)
  }

  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding)
    if (document.hidden) {
      hiding = setTimeout(() => {
        stop()
        current = new AbortController()
        tell({ state: 'resting' })
      }, HIDDEN_MS)
    } else if (link.state === 'resting') open()
  })
  addEventListener('online', () => {
    if (link.state === 'waiting') open()
  })
  open()
  return { retry: open }
}

/** How a connection ended. */
type End =
  | { readonly reason: string; readonly retryAfterMs?: number; readonly hadFrames?: boolean }
  | { readonly status: number; readonly reason: string }
  | { readonly wasAborted: true }

async function read(
  address: string,
  control: AbortController,
  onFrame: (frame: Frame) => void,
): Promise<End> {
  let isSilent = false
  let hadFrames = false
  const silence = (): ReturnType<typeof setTimeout> =>
    setTimeout(() => {
      isSilent = true
      control.abort()
    }, SILENT_MS)
  let watch = silence()
  try {
    const headers = { accept: 'text/event-stream' }
    const response = await fetch(address, { headers, signal: control.signal, cache: 'no-store' })
    if (!response.ok || response.body === null) return await refusalOf(response)
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    const parse = eventParser((data) => {
      hadFrames = true
      onFrame(JSON.parse(data) as Frame)
    })
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return { reason: 'The server ended the connection.', hadFrames }
      clearTimeout(watch)
      watch = silence()
      parse(value)
    }
  } catch (error) {
    if (error instanceof SyntaxError)
      return { reason: 'The server sent something that is not a frame.' }
    if (isSilent) return { reason: `The server said nothing for ${SILENT_MS / 1_000} s.` }
    if (control.signal.aborted) return { wasAborted: true }
    return { reason: 'The server cannot be reached.' }
  } finally {
    clearTimeout(watch)
    control.abort()
  }
}

async function refusalOf(response: Response): Promise<End> {
  const { status } = response
  const reason = await messageOf(response)
  if (status === 401 || status === 403) return { status, reason }
  const seconds = Number(response.headers.get('retry-after') ?? 0)
  return { reason, retryAfterMs: seconds > 0 ? seconds * 1_000 : 0 }
}

/** The message of an unsuccessful answer. */
export async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    if (typeof message === 'string') return message
  } catch {
    // Not the server's answer but a proxy's: its status says enough.
  }
  return `The server answered ${response.status}.`
}

/** Parses a stream piece by piece, and calls back with the data of each event named `frame`. */
export function eventParser(onData: (data: string) => void): (piece: string) => void {
  let rest = ''
  let data: string[] = []
  let name = ''
  const take = (line: string): void => {
    if (line === '') {
      if (name === 'frame' && data.length > 0) onData(data.join('\n'))
      data = []
      name = ''
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    if (field === 'data') data.push(value)
  }
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
