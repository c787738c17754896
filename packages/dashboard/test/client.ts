// A client with any Host, Origin and cookies.

import { type IncomingHttpHeaders, type IncomingMessage, request as open } from 'node:http'
import type { Frame } from '../src/protocol.js'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export async function ask(url: string, options: AskOptions = {}): Promise<Reply> {
  const response = await begin(url, options)
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** A response whose body is not read. */
export function begin(
  url: string,
  { method = 'GET', headers = {}, body }: AskOptions = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = open(url, { method, headers, agent: false }, resolve)
    request.on('error', reject)
    request.end(body)
  })
}

/** A client that has opened the address with the token. */
export interface Entered {
  /** The mount, with a trailing slash. */
  readonly url: string
  readonly cookie: string
  post(path: string, value: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>
}

export async function enter(address: string): Promise<Entered> {
  const { headers } = await ask(address)
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const url = new URL(headers.location ?? './', address).href
  const { origin } = new URL(url)
  return {
    url,
    cookie,
    post(path, value, more = {}) {
      const own = { cookie, origin, 'content-type': 'application/json', ...more }
      return ask(url + path, { method: 'POST', headers: own, body: JSON.stringify(value) })
    },
  }
}

export interface FrameStream {
  readonly status: number
  /** The next frame. Rejects when the stream has ended. */
  next(): Promise<Frame>
  /** The first frame that meets the condition. */
  until(holds: (frame: Frame) => boolean): Promise<Frame>
  close(): void
}

export async function frames(
  { url, cookie }: Pick<Entered, 'url' | 'cookie'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<FrameStream> {
  const response = await begin(`${url}events`, { headers: { cookie, ...headers } })
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]()
  let text = ''

  async function next(): Promise<Frame> {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const event = text.slice(0, end)
        text = text.slice(end + 2)
        const data = /^data: ([^\n]*)$/m.exec(event)?.[1]
        if (data !== undefined) return JSON.parse(data) as Frame
        continue
      }
      const { value, done } = await chunks.next()
      if (done) throw new Error('the stream has ended')
      text += value as string
    }
  }

  return {
    status: response.statusCode ?? 0,
    next,
    async until(holds) {
      for (;;) {
        const frame = await next()
        if (holds(frame)) return frame
      }
    },
    close: () => response.destroy(),
  }
}
