// One row for each option of another limiter: how it is set up there, how here, what is asked of
// both, and what clients see. Both run behind real servers and get the same requests.

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
  /** How many milliseconds pass before. */
  readonly after?: number
  /** The client leaves when it has the first byte of the answer. */
  readonly leaves?: boolean
  /** It has sent as many requests at once by then, over one connection. */
  readonly pipelined?: number
}

/** What a set-up can use. */
export interface Tools {
  /** Shows something beside the answer to the request during which it happened. */
  readonly note: (what: string) => void
  /** A client of a Redis server of the row's own, and one whose connection is gone. */
  readonly redis: Redis
  readonly lost: Redis
}

type SetUp<T> = T | ((tools: Tools) => T)

interface Sides<There, Here> {
  /** What of the option this row is about. */
  readonly title?: string
  readonly there: SetUp<There>
  readonly here: SetUp<Here>
  /** Default: two plain requests. */
  readonly asks?: readonly Ask[]
  /** Headers, or `body`, that are seen beside the status. */
  readonly look?: readonly string[]
  /** Text by text what each answer there looks like. */
  readonly seen: readonly string[]
}

/** Here the same is seen, or something else for a reason. */
export type Row<There, Here> = Sides<There, Here> &
  (
    | { readonly differs?: never; readonly seenHere?: never }
    | { readonly differs: string; readonly seenHere: readonly string[] }
  )

export type Rows<There, Here> = Row<There, Here> | readonly Row<There, Here>[]

export interface Table<There, Here> {
  /** As its page in docs/migrating is called. */
  readonly from: string
  /** By the names of the options there, or by what else users write. */
  readonly rows: Readonly<Record<string, Rows<There, Here>>>
  readonly startThere: (setUp: There) => Start
  readonly startHere: (setUp: Here) => Start
  /** The names of what a set-up here uses, which that page gives for the option. */
  readonly uses: (setUp: Here) => readonly string[]
}

/** The address of a server, and how to end it. */
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
        expect(documented(from, option), pageOf(from)).toEqual(expect.arrayContaining([...used]))
      })
    }
  })
}

async function look<T>(
  { asks = twice, look: fields = [] }: Pick<Sides<T, T>, 'asks' | 'look'>,
  setUp: SetUp<T>,
  start: (setUp: T) => Start,
): Promise<string[]> {
  // On a whole second, as what headers say depends on it.
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
    // What is done when a response is over, or a client gone.
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

/** Redis has a clock of its own, so that time passes there by what keys have left to live. */
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
      const seen = (name: string) =>
        name === 'body' ? body : `${name}: ${shown(name, response.headers[name])}`
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

/** Times as seconds from now; parameters of fields without the blanks that may go before them. */
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

/** The words of code beside those for an option, in the table of a limiter's page. */
export function documented(from: string, option: string): string[] {
  const name = pageOf(from)
  const page = readFileSync(resolve(import.meta.dirname, '../../..', name), 'utf8')
  const cells = [...page.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)]
  const word = option.replace(/^.*[ .@]/, '')
  const beside = cells.filter(([, left = '']) => wordsIn(left).includes(word))
  if (beside.length === 0) throw new Error(`${name} has no row for ${option}`)
  return beside.flatMap(([, , right = '']) => wordsIn(right))
}

function pageOf(from: string): string {
  return `docs/migrating/${from.replace('@', '').replace('/', '-')}.md`
}

function wordsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/[\w$-]+/g) ?? [])
}
