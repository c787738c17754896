// A client that sends exactly what a test says, and shows exactly what came back.

import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Running, ServerKind, Setup } from './servers/kind.js'

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** The client's address. */
  readonly from?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  /** How many lines each header has. */
  readonly lines: ReadonlyMap<string, number>
  readonly body: string
}

/** How a test registers something to do at its end. */
export type AtEnd = (done: () => Promise<void>) => void

/** Starts a server for the running test. Concurrent tests pass their `onTestFinished`. */
export async function serve(
  kind: ServerKind,
  setup: Setup,
  atEnd: AtEnd = onTestFinished,
): Promise<Running> {
  const running = await kind.start(setup)
  atEnd(() => running.close())
  return running
}

export function ask(
  url: string,
  { method = 'GET', headers = {}, from }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { ...headers } as Record<string, string>,
      ...(from && { localAddress: from }),
    }
    request(url, { ...options, agent: false }, (response) => {
      read(response).then(resolve, reject)
    })
      .once('error', reject)
      .end()
  })
}

async function read(response: IncomingMessage): Promise<Answer> {
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  const lines = new Map<string, number>()
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    const name = (response.rawHeaders[i] as string).toLowerCase()
    lines.set(name, (lines.get(name) ?? 0) + 1)
  }
  const headers = response.headers as Record<string, string | undefined>
  return { status: response.statusCode ?? 0, headers, lines, body }
}

/** Sends requests one after another, and returns the statuses. */
export async function statuses(url: string, asks: readonly Ask[]): Promise<number[]> {
  const found: number[] = []
  for (const one of asks) found.push((await ask(url, one)).status)
  return found
}

export function times(count: number, one: Ask = {}): Ask[] {
  return Array.from({ length: count }, () => one)
}

/** Sends this many requests at once over one connection, without waiting for a response. */
export function pipeline(url: string, count: number): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.resume().write(`GET / HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(count))
  return socket
}
