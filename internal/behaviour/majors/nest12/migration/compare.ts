// One row for each option of another limiter: its setup there and here, the requests to both, and
// what clients see. Both run on real servers and get the same requests.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { resolve } from 'node:path'
import { recommendedRedisOptions } from '@weir/express'
import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

export interface Ask {
  readonly method?: 'OPTIONS'
  /** Default `/`. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** How many milliseconds pass before the request. */
  readonly after?: number
  /** The client leaves when it has the first byte of the response. */
  readonly leaves?: boolean
  /** By then it has sent this many requests at once, over one connection. */
  readonly pipelined?: number
}

/** What a setup can use. */
export interface Tools {
  /** Adds a note to the response to the current request. */
  readonly note: (what: string) => void
  /** A client of the row's own Redis server, and one whose connection has ended. */
  readonly redis: Redis
  readonly lost: Redis
}

type SetUp<T> = T | ((tools: Tools) => T)

interface Sides<There, Here> {
  /** The aspect of the option that this row is about. */
  readonly title?: string
  readonly there: SetUp<There>
  readonly here: SetUp<Here>
  /** Default: two plain requests. */
  readonly asks?: readonly Ask[]
  /** Headers, or `body`, that are compared in addition to the status. */
  readonly look?: readonly string[]
  /** The responses there, one text for each: the status, and what was looked at, in that order. */
  readonly seen: readonly string[]
}

/** The result here is the same, or differs for a reason. */
export type Row<There, Here> = Sides<There, Here> &
  (
    | { readonly differs?: never; readonly seenHere?: never }
    | { readonly differs: string; readonly seenHere: readonly string[] }
  )

export type Rows<There, Here> = Row<There, Here> | readonly Row<There, Here>[]

export interface Table<There, Here> {
  /** The heading of its section in docs/migrating.md. */
  readonly from: string
  /** By the names of the options there, or by what else users write. */
  readonly rows: Readonly<Record<string, Rows<There, Here>>>
  readonly startThere: (setUp: There) => Start
  readonly startHere: (setUp: Here) => Start
  /** The names that a setup here uses, which the page gives for the option. */
  readonly uses: (setUp: Here) => readonly string[]
}

/** The address of a server, and a function that ends it. */
export type Start = Promise<{ readonly url: string; close(): unknown }>

const twice: readonly Ask[] = [{}, {}]
export const thrice: readonly Ask[] = [{}, {}, {}]

export const preflight: Ask = {
  method: 'OPTIONS',
  headers: { origin: 'https://example.com', 'access-control-request-method': 'PUT' },
}

export function compare<There, Here>(table: Table<There, Here>): void {
  const { from, rows, startThere, startHere, uses } = table
  describe.each(Object.entries(rows))(`${from}: %s`, (option, found) => {
    for (const row of [found].flat() as Row<There, Here>[]) {
      const { title, differs, seen, seenHere = seen } = row
      const name = [title, differs ? `differs: ${differs}` : 'the same'].filter(Boolean).join('; ')
      test(name, async () => {
        expect(await look(row, row.there, startThere)).toEqual(seen)
        let used: readonly string[] = []
        const start = (setUp: Here) => {
          used = uses(setUp)
          return startHere(setUp)
        }
        expect(await look(row, row.here, start)).toEqual(seenHere)
        if (differs !== undefined) expect(seenHere).not.toEqual(seen)
        expect(documented(from, option)).toEqual(expect.arrayContaining([...used]))
      })
    }
  })
}

async function look<T>(
  { asks = twice, look: fields = [] }: Pick<Sides<T, T>, 'asks' | 'look'>,
  setUp: SetUp<T>,
  start: (setUp: T) => Start,
): Promise<string[]> {
  // On a whole second, on which the values of headers depend.
  vi.advanceTimersByTime(1_000 - (Date.now() % 1_000))
  const notes: string[] = []
  const note = (what: string) => void notes.push(what)
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation((_, options) => {
    note(`warning ${(options as { code?: string }).code}`)
  })
  onTestFinished(() => warned.mockRestore())
  const made = typeof setUp === 'function' ? await tools(note) : undefined
  const running = await start(made ? (setUp as (tools: Tools) => T)(made) : (setUp as T))
  onTestFinished(async () => void (await running.close()))
  const seen: string[] = []
  for (const ask of asks) {
    vi.advanceTimersByTime(ask.after ?? 0)
    if (made && ask.after) await age(made.redis, ask.after)
    const answer = await answerTo(running.url, ask, fields)
    // Waits for what happens after a response is over, or a client has left.
    await new Promise((done) => setTimeout(done, ask.leaves ? 50 : 2))
    seen.push([answer, ...notes.splice(0)].join(' | '))
  }
  return seen
}

async function tools(note: Tools['note']): Promise<Tools> {
  const server = await startRedis()
  const connect = async () => {
    const client = new Redis(server.port, server.host, recommendedRedisOptions)
    client.on('error', () => {})
    await once(client, 'ready')
    return client
  }
  const [redis, lost] = [await connect(), await connect()]
  lost.disconnect()
  onTestFinished(async () => {
    redis.disconnect()
    await server.stop()
  })
  return { note, redis, lost }
}

/** Redis has its own clock, so time passes there by shortening the TTLs of keys. */
async function age(redis: Redis, ms: number): Promise<void> {
  for (const key of await redis.keys('*')) {
    const left = await redis.pttl(key)
    if (left > ms) await redis.pexpire(key, left - ms)
    else if (left >= 0) await redis.del(key)
  }
}

function answerTo(url: string, ask: Ask, fields: readonly string[]): Promise<string> {
  const { method = 'GET', path = '/', headers = {}, leaves, pipelined } = ask
  if (pipelined !== undefined) return leavesPipelined(url, path, pipelined)
  return new Promise((done, failed) => {
    const sent = request(url + path, { method, headers, agent: false }, async (response) => {
      if (leaves) {
        sent.destroy()
        done('left')
        return
      }
      let body = ''
      for await (const chunk of response.setEncoding('utf8')) body += chunk
      const seen = (name: string) => (name === 'body' ? body : shown(name, response.headers[name]))
      done([response.statusCode, ...fields.map(seen)].join(' | '))
    })
    sent.once('error', failed).end()
  })
}

function leavesPipelined(url: string, path: string, count: number): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(count))
  return new Promise((done, failed) => {
    socket.once('error', failed).once('data', () => {
      socket.destroy()
      done('left')
    })
  })
}

/** Times become seconds from now; blanks before parameters of fields are removed. */
function shown(name: string, value: string | string[] | undefined): string {
  const text = String(value ?? 'none')
  if (name === 'x-ratelimit-reset' && Number(text) > 1e9)
    return `now+${Number((Number(text) - Date.now() / 1_000).toFixed(3))}`
  return text.replaceAll('; ', ';')
}

export async function listen(listener: RequestListener): Start {
  const server: Server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

const PAGE = 'docs/migrating.md'

/** The code in the row of an option, in the table of a limiter's section. */
export function documented(from: string, option: string): string[] {
  const page = readFileSync(resolve(import.meta.dirname, '../../../../..', PAGE), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith(`${from}\n`)) ?? ''
  const cells = [...section.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)]
  const word = option.replace(/^.*[ .@]/, '')
  const beside = cells.filter(([, left = '']) => wordsIn(left).includes(word))
  if (beside.length === 0) throw new Error(`${PAGE} has no row for ${option} of ${from}`)
  return beside.flatMap(([, , right = '']) => wordsIn(right))
}

function wordsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/[\w$-]+/g) ?? [])
}
