// Entries with named fields: objects of JSON, and columns that were given names.

import { type Clients, clientKey } from './clients.js'
import type { LogEntry, Parsed } from './entry.js'
import { timeOf } from './times.js'

/** Where a log has its fields: each by its name, or by a path such as `user.id`. */
export interface FieldNames {
  /** The time. Default: the usual names, such as `time`, `timestamp`, `ts` and `@timestamp`. */
  readonly time?: string | undefined
  /** Who is limited. Default: nothing; the key is then what `--key` names. */
  readonly key?: string | undefined
  /** What a request costs. Default: nothing, so that each costs 1. */
  readonly cost?: string | undefined
  readonly ip?: string | undefined
  readonly user?: string | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  readonly status?: string | undefined
  readonly bytes?: string | undefined
}

/** The names that servers and loggers give their fields, the most exact first: nginx (`msec`,
 *  `remote_addr`), Caddy (`ts`, `request.client_ip`), Traefik (`StartUTC`, `ClientHost`), Google
 *  Cloud (`httpRequest.remoteIp`), HTTP Archives (`startedDateTime`), pino and others. */
const USUAL = {
  time: 'StartUTC msec time_iso8601 time_local time timestamp ts @timestamp date datetime startedDateTime',
  key: '',
  cost: '',
  ip: 'ip request.client_ip request.remote_ip request.remote_addr httpRequest.remoteIp ClientHost remote_addr client_ip remoteAddress remoteAddr clientIp req.ip req.remoteAddress',
  user: 'user.id user userId user_id remote_user ClientUsername',
  method: 'method req.method request.method request_method httpRequest.requestMethod RequestMethod',
  path: 'path url req.url request.url request_uri request.uri uri httpRequest.requestUrl RequestPath',
  host: 'host req.headers.host req.host hostname request.host http_host server_name RequestHost',
  status: 'status statusCode res.statusCode response.status httpRequest.status DownstreamStatus',
  bytes:
    'bytes size bytes_sent body_bytes_sent httpRequest.responseSize DownstreamContentSize response.bodySize',
} as const

type FieldName = keyof typeof USUAL

/** The fields whose paths may be given. */
export const FIELD_NAMES = Object.keys(USUAL) as readonly FieldName[]

/** Where a field may be. A name may have a dot in it, so it is looked for before its parts. */
interface Place {
  readonly name: string
  readonly parts: readonly string[]
}

type Places = Readonly<Record<FieldName, readonly Place[]>>

/** Makes the function that makes entries of objects. */
export function entryMaker(fields: FieldNames, clients: Clients): (value: object) => Parsed {
  const places = Object.fromEntries(
    FIELD_NAMES.map((name) => {
      const texts = (fields[name] ?? USUAL[name]).split(' ').filter((text) => text !== '')
      return [name, texts.map((text) => ({ name: text, parts: text.split('.') }))]
    }),
  ) as unknown as Places
  return (value) => {
    const timeUs = timeIn(value, places.time)
    if (timeUs === undefined) return 'no time; name its field: --fields time=NAME'
    if (Number.isNaN(timeUs)) return 'a time that cannot be read'
    return new FieldsEntry(timeUs, value, places, clients)
  }
}

/** The first time that can be read: another field of a usual name may be a duration. */
function timeIn(value: object, places: Places['time']): number | undefined {
  let found: number | undefined
  for (const place of places) {
    const text = plainAt(value, place)
    if (text === undefined) continue
    found = timeOf(text)
    if (!Number.isNaN(found)) return found
  }
  return found
}

class FieldsEntry implements LogEntry {
  readonly timeUs: number
  readonly #value: object
  readonly #places: Places
  readonly #clients: Clients

  constructor(timeUs: number, value: object, places: Places, clients: Clients) {
    this.timeUs = timeUs
    this.#value = value
    this.#places = places
    this.#clients = clients
  }

  get ip(): string | undefined {
    return this.#clients.of(this.#text('ip'), this)
  }

  get user(): string | undefined {
    return this.#text('user')
  }

  get method(): string | undefined {
    return this.#text('method')
  }

  get path(): string | undefined {
    const text = this.#text('path')
    const url = urlIn(text)
    return url === undefined ? text : url.pathname + url.search
  }

  get host(): string | undefined {
    return this.#text('host') ?? urlIn(this.#text('path'))?.host
  }

  get status(): number | undefined {
    return this.#number('status')
  }

  get bytes(): number | undefined {
    return this.#number('bytes')
  }

  get key(): string | undefined {
    const text = this.#text('key')
    if (text === undefined || clientKey(text) === undefined)
      return text && this.#clients.field(text)
    return this.#clients.of(text, this)
  }

  get cost(): number | undefined {
    if (this.#places.cost.length === 0) return undefined
    return this.#number('cost') ?? Number.NaN
  }

  header(name: string): string | undefined {
    const lower = name.toLowerCase()
    return this.#clients.header(lower, this.sent(lower))
  }

  /** A header as the log has it. Caddy has them in `request.headers`, with lists as values; others
   *  in `headers` or `req.headers`; HTTP Archives in a list; nginx in fields such as
   *  `http_user_agent`, and Traefik in fields such as `request_User-Agent`. */
  sent(lower: string): string | undefined {
    for (const place of HEADERS) {
      const found = headerIn(at(this.#value, place), lower)
      if (found !== undefined) return found
    }
    const nginx = textOf(ownOf(this.#value, `http_${lower.replaceAll('-', '_')}`))
    return nginx ?? headerIn(this.#value, `request_${lower}`)
  }

  field(path: string): string | number | boolean | undefined {
    const found = ownOf(this.#value, path) ?? at(this.#value, path.split('.'))
    if (this.#places.ip.some(({ name }) => name === path))
      return this.#clients.of(textOf(found), this)
    if (typeof found === 'string') return this.#clients.field(found)
    return isPlain(found) ? found : undefined
  }

  #text(name: FieldName): string | undefined {
    return textOf(firstOf(this.#value, this.#places[name]))
  }

  #number(name: FieldName): number | undefined {
    const found = firstOf(this.#value, this.#places[name])
    if (typeof found === 'number') return found
    return typeof found === 'string' && found.trim() !== '' ? Number(found) : undefined
  }
}

/** The address of a whole request, as proxies of clouds and HTTP Archives have it. */
function urlIn(text: string | undefined): URL | undefined {
  if (text === undefined || !/^\w+:\/\//.test(text)) return undefined
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const HEADERS = [['request', 'headers'], ['headers'], ['req', 'headers']] as const

function headerIn(headers: unknown, lower: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  if (Array.isArray(headers)) {
    const found = headers.find((one) => String(one?.name).toLowerCase() === lower)
    return textOf(found?.value)
  }
  for (const name of Object.keys(headers)) {
    if (name.toLowerCase() !== lower) continue
    const value: unknown = (headers as Record<string, unknown>)[name]
    return textOf(Array.isArray(value) ? value[0] : value)
  }
  return undefined
}

function firstOf(value: object, places: readonly Place[]): unknown {
  for (const place of places) {
    const found = plainAt(value, place)
    if (found !== undefined) return found
  }
  return undefined
}

/** What is at a place, unless it is unknown. */
function plainAt(value: object, { name, parts }: Place): unknown {
  let found = ownOf(value, name)
  if (found === undefined && parts.length > 1) found = at(value, parts)
  return isPlain(found) && found !== '' && found !== '-' ? found : undefined
}

/** Reads own properties only, so that a field called `constructor` is like any other. */
function ownOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) found = ownOf(found, name)
  return found
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function textOf(value: unknown): string | undefined {
  return isPlain(value) && value !== '' && value !== '-' ? String(value) : undefined
}
