// HTTP Archives, as browsers and proxies save them: one JSON document.

import type { LogEntry, Parsed } from './entry.js'
import { timeOf } from './times.js'

/** The entries of a document. */
export function parseHar(text: string): readonly Parsed[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return ['no JSON']
  }
  const entries: unknown = (value as Har | null)?.log?.entries
  if (!Array.isArray(entries)) return ['no HTTP Archive: it has no log.entries']
  return entries.map(harEntry)
}

interface Har {
  readonly log?: { readonly entries?: unknown }
}

interface Raw {
  readonly startedDateTime?: unknown
  readonly request?: {
    readonly method?: unknown
    readonly url?: unknown
    readonly headers?: unknown
  }
  readonly response?: { readonly status?: unknown; readonly bodySize?: unknown }
}

function harEntry(raw: Raw | null): Parsed {
  const timeUs = timeOf(raw?.startedDateTime)
  if (Number.isNaN(timeUs)) return 'an entry without a startedDateTime that can be read'
  return new HarEntry(timeUs, raw as Raw)
}

/** A HAR records one client, and so names neither an address nor a user; headers may. */
class HarEntry implements LogEntry {
  readonly timeUs: number
  readonly ip = undefined
  readonly user = undefined
  readonly key = undefined
  readonly cost = undefined
  readonly #raw: Raw

  constructor(timeUs: number, raw: Raw) {
    this.timeUs = timeUs
    this.#raw = raw
  }

  get method(): string | undefined {
    return textOf(this.#raw.request?.method)
  }

  get path(): string | undefined {
    const url = this.#url()
    return url === undefined ? undefined : url.pathname + url.search
  }

  get host(): string | undefined {
    return this.#url()?.host
  }

  get status(): number | undefined {
    return numberOf(this.#raw.response?.status)
  }

  get bytes(): number | undefined {
    return numberOf(this.#raw.response?.bodySize)
  }

  header(name: string): string | undefined {
    const headers: unknown = this.#raw.request?.headers
    if (!Array.isArray(headers)) return undefined
    const lower = name.toLowerCase()
    for (const one of headers as readonly ({ name?: unknown; value?: unknown } | null)[]) {
      if (typeof one?.name === 'string' && one.name.toLowerCase() === lower)
        return textOf(one.value)
    }
    return undefined
  }

  field(path: string): string | number | boolean | undefined {
    let found: unknown = this.#raw
    for (const name of path.split('.')) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
        return undefined
      found = (found as Record<string, unknown>)[name]
    }
    const isPlain = ['string', 'number', 'boolean'].includes(typeof found)
    return isPlain ? (found as string | number | boolean) : undefined
  }

  #url(): URL | undefined {
    try {
      return new URL(textOf(this.#raw.request?.url) ?? '')
    } catch {
      return undefined
    }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
