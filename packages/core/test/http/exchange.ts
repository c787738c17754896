// Requests and responses without a framework, for the tests of core/http.

import {
  type HttpAdapter,
  httpLimiter,
  type LimitOptions,
  RATE_LIMIT_HEADERS,
  type Refusal,
  type RequestDecision,
  type ResponseOutcome,
  type Trust,
} from '../../src/http/index.js'
import { fixedWindow, memoryStore, type Store } from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'

export interface FakeRequest {
  address?: string | undefined
  peer?: string | undefined
  trust?: Trust
  method?: string
  headers?: Readonly<Record<string, string>>
  user?: string
  rateLimit?: RequestDecision
}

export class FakeResponse {
  headersSent = false
  readonly headers: Record<string, string> = {}
  readonly endings: ((outcome: ResponseOutcome) => void)[] = []

  /** Ends the response, and waits for the consequences. */
  async end(status = 200, finished = true): Promise<void> {
    for (const done of this.endings.splice(0)) done({ status, finished })
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Writes the name of a header, which is case-insensitive, as in the drafts. */
export function asWritten(name: string): string {
  return RATE_LIMIT_HEADERS.find((each) => each.toLowerCase() === name) ?? name
}

export const fake: HttpAdapter<FakeRequest, FakeResponse> = {
  address: (request) => ('address' in request ? request.address : '192.0.2.1'),
  peer: (request) => ('peer' in request ? request.peer : fake.address(request)),
  trust: (request) => request.trust ?? 'listed',
  method: (request) => request.method ?? 'GET',
  header: (request, name) => request.headers?.[name],
  placed: (request, _, property) => (request as Record<string, unknown>)[property],
  place: (request, decision, _, property) => void Object.assign(request, { [property]: decision }),
  headersSent: (response) => response.headersSent,
  setHeader: (response, name, value) => {
    if (response.headersSent) throw new Error(`${name} set after the headers were sent`)
    response.headers[asWritten(name)] = value
  },
  afterResponse: (response, done) => void response.endings.push(done),
}

/** A limiter on a stopped clock, and the results of requests to it. */
export function limitOn(
  options: Partial<LimitOptions<FakeRequest>> = {},
  clock: FakeClock = fakeClock(),
): {
  readonly limiter: ReturnType<typeof httpLimiter>['limiter']
  readonly clock: FakeClock
  readonly send: (request?: FakeRequest, response?: FakeResponse) => Promise<Refusal | undefined>
  readonly sendNow: (request?: FakeRequest, response?: FakeResponse) => Refusal | undefined
} {
  const store: Store = options.store ?? memoryStore({ clock })
  const allowance =
    options.policy || 'limit' in options ? {} : { policy: fixedWindow({ limit: 2, window: '1m' }) }
  const all = { shared: true, ...allowance, ...options, store } as LimitOptions<FakeRequest>
  const { check, limiter } = httpLimiter(all, fake)
  return {
    limiter,
    clock,
    send: async (request = {}, response = new FakeResponse()) => check(request, response),
    sendNow: (request = {}, response = new FakeResponse()) => {
      const verdict = check(request, response)
      if (verdict instanceof Promise) throw new Error('not answered at once')
      return verdict
    },
  }
}
