// Shows the progress of a long run on one line of a terminal. Prints nothing if there is no
// terminal.

export interface Progress {
  readonly seeds: number
  readonly requests: number
  readonly elapsedMs: number
  readonly broken: number
}

interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Moves to the start of the line and clears it. */
const CLEAR = '\r\x1b[K'
const EVERY_MS = 100

export interface ProgressLine {
  show(progress: Progress): void
  /** Makes room for other output. */
  clear(): void
}

export function progressLine(terminal: Terminal): ProgressLine {
  if (!terminal.isTTY) return { show: () => {}, clear: () => {} }
  let shownMs = -Infinity
  return {
    show(progress) {
      if (progress.elapsedMs - shownMs < EVERY_MS) return
      shownMs = progress.elapsedMs
      terminal.write(`${CLEAR}${progressText(progress)}`)
    },
    clear() {
      terminal.write(CLEAR)
      shownMs = -Infinity
    },
  }
}

export function progressText({ seeds, requests, elapsedMs, broken }: Progress): string {
  const seconds = elapsedMs / 1_000
  const each = seconds === 0 ? 0 : requests / seconds
  return [
    `${textOf(seeds)} seeds`,
    `${textOf(requests)} requests`,
    `${textOf(each)} requests/s`,
    `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')} min`,
    `${textOf(broken)} broken`,
  ].join(', ')
}

function textOf(count: number): string {
  return Math.round(count).toLocaleString('en-US')
}
