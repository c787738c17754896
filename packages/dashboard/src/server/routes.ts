// The answers to requests: a table of paths and methods; nothing else is answered.

import { type Acting, act, preview } from '../act/act.js'
import { lookup } from '../act/lookup.js'
import { problemOf, Refused } from '../act/problem.js'
import type { Problem } from '../protocol.js'
import type { Access, Viewer } from './access.js'
import { asset, page } from './assets.js'
import type { Answer, PageRequest } from './exchange.js'
import { HEADERS } from './headers.js'
import { checkPosted, checkStreamed } from './origin.js'
import { withSlash } from './place.js'
import type { Viewers } from './viewers.js'

const LONGEST_QUERY = 2_048

export interface Serving extends Acting {
  readonly access: Access
  readonly viewers: Viewers
  /** Whether actions are switched on. */
  readonly mayAct: boolean
  /** Called when a user's function has thrown. */
  readonly failed: (what: string, error: unknown) => void
}

type Route = (serving: Serving, request: PageRequest) => Answer | Promise<Answer>

const get = (route: Route): Readonly<Record<string, Route>> => ({ GET: route, HEAD: route })

const ROUTES: ReadonlyMap<string, Readonly<Record<string, Route>>> = new Map([
  ['', get(thePage)],
  ['app.js', get((_, request) => asset('app.js', request))],
  ['app.css', get((_, request) => asset('app.css', request))],
  ['events', get(theEvents)],
  ['lookup', { POST: theLookup }],
  ['preview', { POST: thePreview }],
  ['actions', { POST: theActions }],
])

/** Whether a path is in the table. */
export function isRoute(path: string | undefined): boolean {
  return path === undefined || ROUTES.has(path)
}

/** Never rejects. */
export async function answerTo(serving: Serving, request: PageRequest): Promise<Answer> {
  try {
    return await routed(serving, request)
  } catch (error) {
    return refusal(serving, error)
  }
}

function routed(serving: Serving, request: PageRequest): Answer | Promise<Answer> {
  const { method, path, query, base } = request
  if (query.length > LONGEST_QUERY) throw new Refused(414, 'too-long', 'the query is too long')
  const methods = ROUTES.get(path ?? '')
  if (methods === undefined) throw new Refused(404, 'not-found', 'there is no such page')
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (route === undefined) {
    const allow = Object.keys(methods).join(', ')
    return problem(405, { code: 'wrong-method', message: `use ${allow}` }, { Allow: allow })
  }
  if (path === undefined) return moved(withSlash(base, query))
  return route(serving, request)
}

/** The page. Those without access get it with the status that says so; the page explains it. */
async function thePage({ access }: Serving, request: PageRequest): Promise<Answer> {
  const cookie = access.cookie(request)
  if (cookie !== undefined) return entered(request, cookie)
  try {
    await access.viewer(request)
    return page(200)
  } catch (error) {
    if (error instanceof Refused) return page(error.status)
    throw error
  }
}

/** Moves the token from the address into the cookie. */
function entered({ header }: PageRequest, cookie: string): Answer {
  // After a link from another site, browsers would not send the cookie along with a redirect.
  if (header('sec-fetch-site') === 'cross-site') {
    const headers = { ...HEADERS, 'Set-Cookie': cookie, Refresh: '0; url=./' }
    return { status: 200, headers: { ...headers, 'Content-Type': 'text/plain' }, body: '' }
  }
  return { ...moved('./'), headers: { ...moved('./').headers, 'Set-Cookie': cookie } }
}

async function theEvents(
  { access, viewers, mayAct }: Serving,
  request: PageRequest,
): Promise<Answer> {
  checkStreamed(request)
  const viewer = await access.viewer(request)
  const headers = {
    ...HEADERS,
    'Content-Type': 'text/event-stream; charset=utf-8',
    // Keeps proxies and middleware from buffering or compressing, which would hold frames back.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
  }
  if (request.method === 'HEAD') return { status: 200, headers, body: '' }
  if (viewers.isClosed) throw new Refused(503, 'closed', 'the dashboard was closed')
  if (viewers.isFull) {
    const message = 'there are too many viewers; try again later'
    return problem(503, { code: 'too-many-viewers', message }, { 'Retry-After': '10' })
  }
  const shown = { name: viewer.name, mayAct: mayAct && viewer.mayAct }
  return { status: 200, headers, open: (reader) => viewers.add(reader, shown) }
}

async function theLookup({ access, collector }: Serving, request: PageRequest): Promise<Answer> {
  checkPosted(request)
  await access.viewer(request)
  return json(200, await lookup(collector, await request.json()))
}

/** Somebody who may act. @throws {Refused} */
async function actor({ access, mayAct }: Serving, request: PageRequest): Promise<Viewer> {
  checkPosted(request)
  const viewer = await access.viewer(request)
  if (!mayAct) throw new Refused(403, 'actions-off', 'the dashboard was made without actions: true')
  if (viewer.mayAct) return viewer
  throw new Refused(403, 'may-not-act', 'authorize lets you look, and change nothing')
}

async function thePreview(serving: Serving, request: PageRequest): Promise<Answer> {
  await actor(serving, request)
  return json(200, await preview(serving.collector, await request.json()))
}

async function theActions(serving: Serving, request: PageRequest): Promise<Answer> {
  const { who } = await actor(serving, request)
  const { viewers } = serving
  const answer = await act(serving, await request.json(), who)
  viewers.refresh()
  return json(200, answer)
}

function moved(to: string): Answer & { readonly body: string } {
  return { status: 303, headers: { ...HEADERS, Location: to }, body: '' }
}

function json(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const type = { 'Content-Type': 'application/json; charset=utf-8' }
  return { status, headers: { ...HEADERS, ...type, ...headers }, body: JSON.stringify(value) }
}

function problem(
  status: number,
  value: Problem,
  headers?: Readonly<Record<string, string>>,
): Answer {
  return json(status, value, headers)
}

function refusal({ failed }: Serving, error: unknown): Answer {
  if (error instanceof Refused) {
    const { status, code, message } = error
    return problem(status, { code, message })
  }
  const known = problemOf(error)
  if (known.code.startsWith('WEIR_')) {
    const isMisuse = error instanceof TypeError || error instanceof RangeError
    return problem(isMisuse ? 400 : 502, known)
  }
  // Viewers must not see what a user's function threw.
  failed('answering', error)
  return problem(500, { code: 'failed', message: 'the server failed to answer; its log says why' })
}
