// Logs with one JSON object per line: nginx's and Caddy's by the names that these servers give
// their fields, any other by usual names or by those that the user gives.

import type { LogEntry, Parsed } from './entry.js'
import { timeOf } from './times.js'

/** Where a JSON log has its fields: each by its name, or by a path such as `user.id`. */
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

/** The fields whose paths may be given. */
export const FIELD_NAMES = [
  'time',
  'key',
  'cost',
  'ip',
  'user',
  'method',
  'path',
  'host',
  'status',
  'bytes',
] as const

type FieldName = (typeof FIELD_NAMES)[number]
/** The paths at which each field may be. */
type Places = Readonly<Record<FieldName, readonly (readonly string[])[]>>

/** The names that servers and loggers usually give their fields. */
const USUAL: Readonly<
  Record<'nginx' | 'caddy' | 'any', Readonly<Partial<Record<FieldName, string>>>>
> = {
  nginx: {
    time: 'msec time_iso8601 time_local timestamp time @timestamp',
    ip: 'remote_addr',
    user: 'remote_user',
    method: 'request_method',
    path: 'request_uri uri',
    host: 'host http_host server_name',
    status: 'status',
    bytes: 'bytes_sent body_bytes_sent',
  },
  caddy: {
    time: 'ts',
    ip: 'request.client_ip request.remote_ip request.remote_addr',
    user: 'user_id',
    method: 'request.method',
    path: 'request.uri',
    host: 'request.host',
    status: 'status',
    bytes: 'size',
  },
  any: {
    time: 'time timestamp ts @timestamp date datetime',
    ip: 'ip remote_addr client_ip remoteAddress remoteAddr clientIp req.remoteAddress req.ip',
    user: 'user.id user userId user_id',
    method: 'method req.method request.method request_method',
    path: 'path url req.url request.url uri request_uri',
    host: 'host req.headers.host hostname',
    status: 'status statusCode res.statusCode response.status',
    bytes: 'bytes size',
  },
}

/** Parses the lines of a log of JSON objects. */
export function jsonParser(
  kind: 'nginx' | 'caddy' | 'any',
  fields: FieldNames,
): (line: string) => Parsed {
  const places = placesOf(kind, fields)
  return (line) => {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return line.trim() === '' ? undefined : 'no JSON'
    }
    return jsonEntry(value, places)
  }
}

function placesOf(kind: 'nginx' | 'caddy' | 'any', fields: FieldNames): Places {
  const usual = USUAL[kind]
  const places = FIELD_NAMES.map((name) => {
    const texts = fields[name] === undefined ? usual[name]?.split(' ') : [fields[name]]
    return [name, (texts ?? []).map((text) => [text, ...text.split('.')])] as const
  })
  return Object.fromEntries(places) as unknown as Places
}

function jsonEntry(value: unknown, places: Places): Parsed {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no JSON object'
  const time = firstOf(value, places.time)
  if (time === undefined) return 'no time; name its field: --fields time=NAME'
  const timeUs = timeOf(time)
  if (Number.isNaN(timeUs)) return 'a time that cannot be read'
  return new JsonEntry(timeUs, value, places)
}

class JsonEntry implements LogEntry {
  readonly timeUs: number
  readonly #value: object
  readonly #places: Places

  constructor(timeUs: number, value: object, places: Places) {
    this.timeUs = timeUs
    this.#value = value
    this.#places = places
  }

  get ip(): string | undefined {
    return this.#text('ip')
  }

  get user(): string | undefined {
    return this.#text('user')
  }

  get method(): string | undefined {
    return this.#text('method')
  }

  get path(): string | undefined {
    return this.#text('path')
  }

  get host(): string | undefined {
    return this.#text('host')
  }

  get status(): number | undefined {
    return this.#number('status')
  }

  get bytes(): number | undefined {
    return this.#number('bytes')
  }

  get key(): string | undefined {
    return this.#text('key')
  }

  get cost(): number | undefined {
    if (this.#places.cost.length === 0) return undefined
    return this.#number('cost') ?? Number.NaN
  }

  /** Caddy has headers in `request.headers`, with lists as values; others in `headers` or
   *  `req.headers`; nginx in fields such as `http_user_agent`. */
  header(name: string): string | undefined {
    const lower = name.toLowerCase()
    for (const place of HEADERS) {
      const found = headerIn(at(this.#value, place), lower)
      if (found !== undefined) return found
    }
    return textOf(at(this.#value, [`http_${lower.replaceAll('-', '_')}`]))
  }

  field(path: string): string | number | boolean | undefined {
    const found = at(this.#value, [path]) ?? at(this.#value, path.split('.'))
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

const HEADERS = [['request', 'headers'], ['headers'], ['req', 'headers']] as const

function headerIn(headers: unknown, lower: string): string | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined
  for (const name of Object.keys(headers)) {
    if (name.toLowerCase() !== lower) continue
    const value: unknown = (headers as Record<string, unknown>)[name]
    return textOf(Array.isArray(value) ? value[0] : value)
  }
  return undefined
}

/** The first place is the name unsplit, because a field's name may have a dot in it. */
function firstOf(value: object, places: readonly (readonly string[])[]): unknown {
  for (const [whole, ...path] of places as readonly (readonly [string, ...string[]])[]) {
    const found = path.length > 1 ? (at(value, [whole]) ?? at(value, path)) : at(value, path)
    if (isPlain(found) && found !== '' && found !== '-') return found
  }
  return undefined
}

/** Reads own properties only, so that a field called `constructor` is like any other. */
function at(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function textOf(value: unknown): string | undefined {
  return isPlain(value) && value !== '' && value !== '-' ? String(value) : undefined
}
