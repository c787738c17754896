// The worker that reads a log, a part of the file at a time: the page stays responsive, and the
// file may be larger than memory.

import type { LogMessage, LogOrder } from './messages.js'
import { printable } from './printable.js'
import { logSimulation } from './simulate.js'

/** The least time between two progress messages. */
const TELL_MS = 100
const GZIP = [0x1f, 0x8b]

export function startWorker(): void {
  const tell = (message: LogMessage): void => postMessage(message)
  addEventListener('message', async ({ data }: MessageEvent<LogOrder>) => {
    try {
      tell({ kind: 'done', result: await resultOf(data, tell) })
    } catch (error) {
      tell({ kind: 'failed', why: whyOf(error) })
    }
  })
}

/** The error's message, made printable, because it may quote the log. */
function whyOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `The log could not be read: ${printable(message, 500)}`
}

async function resultOf({ file, key, settings }: LogOrder, tell: (message: LogMessage) => void) {
  const simulated = logSimulation(settings, key)
  const text = await textOf(file, tell)
  const reader = text.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read())
    simulated.write(part.value)
  return simulated.end()
}

/** A file's text, decompressed if need be. Bytes that are not UTF-8 become U+FFFD. */
async function textOf(
  file: Blob,
  tell: (message: LogMessage) => void,
): Promise<ReadableStream<string>> {
  const start = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer())
  const bytes = file.stream().pipeThrough(progress(file.size, tell))
  const isGzip = GZIP.every((byte, i) => start[i] === byte)
  const plain = isGzip ? bytes.pipeThrough(new DecompressionStream('gzip')) : bytes
  return plain.pipeThrough(new TextDecoderStream())
}

function progress(size: number, tell: (message: LogMessage) => void) {
  let read = 0
  let toldMs = 0
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(part, controller) {
      read += part.length
      const nowMs = performance.now()
      if (nowMs - toldMs >= TELL_MS) {
        tell({ kind: 'progress', part: read / size })
        toldMs = nowMs
      }
      controller.enqueue(part)
    },
  })
}
