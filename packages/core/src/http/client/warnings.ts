// Warnings, each given once, about set-ups that work but are surely not intended.

import { warnOnce } from '../../base/warnings.js'
import type { Decision } from '../../limiter/decision.js'
import type { Store } from '../../store.js'
import type { HttpAdapter } from '../adapter.js'

/** Headers in which proxies name the client. */
export const FORWARDING_HEADERS: readonly string[] = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
]

/** Addresses for documentation, which no proxy has; and more hops than any real chain has. */
const NOBODYS = ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1']
const FAR = 1_000

/** Whether a trust function, of an address and the number of hops before it, trusts anybody. */
export function trustsEverybody(trusts: (address: string, hop: number) => unknown): boolean {
  try {
    return NOBODYS.every((address) => trusts(address, FAR) === true)
  } catch {
    return false
  }
}

/** Warns of trust in everybody: any client could choose the address that it is counted by. */
export function checkTrusted(trusted: unknown): void {
  if (typeof trusted !== 'function' || !trustsEverybody(trusted as () => unknown)) return
  const what = 'proxies.trusted is a function that trusts every address'
  const remedy = 'so a client can choose its address for each request; let it trust your proxies'
  warnOnce('WEIR_TRUST_ALL', 'proxies', `${what}, ${remedy}`)
}

const ONE = 'so all clients behind the proxy count as one'

/**
 * Checks whether the framework's address of a request is the client's. True: there is nothing more
 * to find out from other requests.
 */
export function checkTrust<Req>(request: Req, adapter: HttpAdapter<Req, never, never>): boolean {
  const trust = adapter.trust(request)
  if (trust === 'everybody') {
    const what = 'the framework trusts any X-Forwarded-For, so a client can choose its address'
    const remedy = 'for each request; tell it which proxies to trust'
    warnOnce('WEIR_TRUST_ALL', '', `${what} ${remedy}`)
  } else if (trust === 'inert') {
    const what = 'the framework has a proxy setting that trusts nobody'
    warnOnce('WEIR_TRUST_INERT', '', `${what}, ${ONE}; give it the addresses of the proxies`)
  } else if (trust === 'nobody') {
    const headers = adapter.headers?.(request)
    const forwarding = FORWARDING_HEADERS.find(
      (name) => (headers ? headers[name] : adapter.header(request, name)) !== undefined,
    )
    if (forwarding === undefined) return false
    // Something before the limiter has found the client.
    if (adapter.address(request) !== adapter.peer(request)) return false
    const what = `requests come with ${forwarding}, but no proxy is trusted`
    const remedy = 'tell the framework (or the option proxies) which proxies to trust'
    warnOnce('WEIR_FORWARDED_IGNORED', '', `${what}, ${ONE}; ${remedy}`)
  }
  return true
}

/** With counters in memory, each of several processes would grant the whole limit. */
export function warnOfMemoryAmongMany(store: Store): void {
  if (!store.local) return
  const env = (globalThis as { process?: Host }).process?.env
  const variable = PER_REQUEST.find((name) => env?.[name])
  if (variable !== undefined) {
    const what = 'this platform starts processes by the number of requests, and each counts for'
    const why = `itself in its own memory (${variable} is set)`
    warnOnce('WEIR_MEMORY_IN_FUNCTION', '', `${what} ${why}; use redisStore`)
    return
  }
  if (!isOneOfMany()) return
  const what = 'each process of this cluster counts for itself in its own memory'
  warnOnce('WEIR_MEMORY_IN_CLUSTER', '', `${what}, so that the limit is multiplied; use redisStore`)
}

/** Fingerprints of requests that made a limiter, and how often each came; undefined: nothing more
 *  to find out. */
let makers: Map<string, number> | undefined = new Map()
const MAX_MAKERS = 100
/** Where limiters are kept, as for tenants, equal requests make only one. */
const OFTEN = 3
/** Parts of the names of headers that differ in each request. */
const UNIQUE = /trace|span|request-id|correlation|since|match|length/
const LONGEST = 4_096

/** Notices the first request of a limiter that the request has made itself. */
export function noticeMadeInRequest<Req>(
  request: Req,
  adapter: HttpAdapter<Req, never, never>,
): void {
  const print = makers && printOf(request, adapter)
  if (makers === undefined || print === undefined) return
  const count = (makers.get(print) ?? 0) + 1
  if (count === OFTEN) {
    const what = 'equal requests each made a limiter while they were handled'
    warnOnce('WEIR_MADE_IN_REQUEST', '', `${what}, so it limits nothing; make it once, at start`)
    makers = undefined
    return
  }
  if (makers.size >= MAX_MAKERS) makers.clear()
  makers.set(print, count)
}

/** Notices the second request of such a limiter: limiters are kept. */
export function noticeUsedAgain(): void {
  makers = undefined
}

/** A fingerprint of all by which a tenant's limiter could be found; undefined: not known. */
function printOf<Req>(
  request: Req,
  { method, url, headers, peer }: HttpAdapter<Req, never, never>,
): string | undefined {
  if (url === undefined || headers === undefined) return undefined
  const kept = Object.entries(headers(request)).filter(([name]) => !UNIQUE.test(name))
  const print = JSON.stringify([method(request), url(request), peer(request), kept])
  return print.length <= LONGEST ? print : undefined
}

/** Warns if a limiter decides on a request again. Nothing is wrong where one of the passes took
 *  nothing. */
export function checkSecondPass(name: string, first: Decision, second: Decision): void {
  if (!first.allowed || !costs(first) || !costs(second)) return
  const what = `limiter "${name}" decided twice on one request, and charged it twice`
  warnOnce('WEIR_MOUNTED_TWICE', name, `${what}; mount it once, or make two limiters`)
}

function costs({ policies }: Decision): boolean {
  return policies.some(({ cost }) => cost > 0)
}

interface Host {
  readonly env?: Readonly<Record<string, string | undefined>>
  getBuiltinModule?(id: string): { readonly isWorker?: boolean } | undefined
}

/** What platforms document: AWS Lambda, Vercel, Cloud Run, Azure Functions, Deno Deploy. */
const PER_REQUEST = [
  'AWS_LAMBDA_FUNCTION_NAME',
  'VERCEL',
  'K_SERVICE',
  'FUNCTIONS_WORKER_RUNTIME',
  'DENO_DEPLOYMENT_ID',
]

/** A worker of node:cluster, or an instance but the first of a process manager (PM2's variable). */
function isOneOfMany(): boolean {
  const { process } = globalThis as { process?: Host }
  return (
    process?.getBuiltinModule?.('node:cluster')?.isWorker === true ||
    Number(process?.env?.NODE_APP_INSTANCE) > 0
  )
}
