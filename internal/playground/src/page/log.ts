// The user's log: a file that is chosen or dropped, read by a worker, and shown as a table. When
// the limits change, it is read again.

import type { LogMessage, LogOrder } from '../log/messages.js'
import { type Settings, WINDOWS } from '../settings.js'
import { byId, element } from './dom.js'
import { resultOf } from './log-result.js'

export interface OwnLog {
  /** Reads the log again, if there is one. */
  settingsChanged(settings: Settings): void
}

/** How long settings must stay unchanged before the log is read again: sliders keep moving. */
const AGAIN_AFTER_MS = 300
const DEFAULT_KEY = 'ip'

/** @param source the script that the worker runs */
export function ownLog(source: string): OwnLog {
  const tools = toolsOf()
  const results = byId('log-results')
  let file: File | undefined
  let settings: Settings | undefined
  let worker: Worker | undefined
  /** The object URL of the worker's script. */
  let address = ''
  let again: ReturnType<typeof setTimeout> | undefined

  function stop(): void {
    worker?.terminate()
    worker = undefined
    URL.revokeObjectURL(address)
    tools.reading(undefined)
  }

  function read(): void {
    stop()
    if (file === undefined || settings === undefined) return
    const { limit, window, burst } = settings
    const order: LogOrder = { file, key: tools.key(), settings: { limit, window, burst } }
    const now = settings
    address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))
    worker = new Worker(address)
    tools.reading(0)
    worker.onmessage = ({ data }: MessageEvent<LogMessage>) => {
      if (data.kind === 'progress') return tools.reading(data.part)
      stop()
      if (data.kind === 'failed') return show(problem(data.why))
      show(resultOf(data.result, now))
    }
    worker.onerror = () => {
      stop()
      show(
        problem('The browser ended the worker that read it; it may be too large for its memory.'),
      )
    }
    worker.postMessage(order)
  }

  function show(...nodes: readonly HTMLElement[]): void {
    results.replaceChildren(...nodes)
  }

  function take(next: File | undefined): void {
    if (next === undefined) return
    file = next
    tools.named(next.name)
    read()
  }

  tools.onFile(take)
  tools.onKey(read)
  tools.onStop(() => {
    stop()
    show(problem('Not read to its end.'))
  })
  return {
    settingsChanged(next) {
      const last = settings
      settings = next
      if (file === undefined || isSameLimit(last, next)) return
      clearTimeout(again)
      again = setTimeout(read, AGAIN_AFTER_MS)
    },
  }
}

function isSameLimit(one: Settings | undefined, other: Settings): boolean {
  return (
    one?.limit === other.limit &&
    one.burst === other.burst &&
    WINDOWS[one.window] === WINDOWS[other.window]
  )
}

function problem(why: string): HTMLElement {
  return element('p', { class: 'problems', role: 'alert' }, why)
}

interface Tools {
  /** Shows how much is read, from 0 to 1; undefined: nothing is being read. */
  reading(part: number | undefined): void
  named(name: string): void
  key(): string
  onFile(take: (file: File | undefined) => void): void
  onKey(read: () => void): void
  onStop(stop: () => void): void
}

function toolsOf(): Tools {
  const input = element('input', { type: 'file', id: 'log-file' })
  const name = element('span', { id: 'log-name' }, 'or drop a file anywhere on this page')
  const key = element('input', {
    type: 'text',
    id: 'log-key',
    value: DEFAULT_KEY,
    maxlength: 200,
    spellcheck: 'false',
    autocapitalize: 'off',
    autocomplete: 'off',
  })
  const progress = element('progress', { max: 1, value: 0, 'aria-label': 'Reading the log' })
  const stop = element('button', { type: 'button' }, 'Stop')
  const busy = element('div', { class: 'row', hidden: true }, progress, stop)
  const accepted =
    'Common and Combined Log Format, JSON lines of nginx, Caddy or others, HAR; also compressed ' +
    'with gzip. The limits are those of the settings.'
  const keys =
    'ip, user, path, header.NAME, or a field of JSON, such as user.id; several: user+path'
  const drop = element(
    'div',
    { class: 'drop' },
    element(
      'div',
      { class: 'row' },
      element('label', { class: 'file' }, 'Choose a log', input),
      name,
    ),
    element(
      'div',
      { class: 'row' },
      element('label', { class: 'field' }, element('span', {}, 'A limit for each'), key),
      element('small', {}, keys),
    ),
    element('small', {}, accepted),
    busy,
  )
  byId('log-tools').append(drop)
  return {
    reading(part) {
      busy.hidden = part === undefined
      if (part !== undefined) progress.value = part
    },
    named(text) {
      name.textContent = text
    },
    key: () => key.value.trim() || DEFAULT_KEY,
    onFile(take) {
      input.addEventListener('change', () => {
        take(input.files?.[0])
        // So that the same file can be chosen again.
        input.value = ''
      })
      onDrop(drop, take)
    },
    onKey: (read) => key.addEventListener('change', read),
    onStop: (action) => stop.addEventListener('click', action),
  }
}

/** Takes files dropped anywhere: one that missed a small field would replace the page. */
function onDrop(drop: HTMLElement, take: (file: File | undefined) => void): void {
  addEventListener('dragover', (event) => {
    event.preventDefault()
    drop.classList.add('over-it')
  })
  addEventListener('dragleave', () => drop.classList.remove('over-it'))
  addEventListener('drop', (event) => {
    event.preventDefault()
    drop.classList.remove('over-it')
    const file = event.dataTransfer?.files[0]
    if (file === undefined) return
    take(file)
    byId('log').scrollIntoView()
  })
}
