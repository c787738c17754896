// Warnings of set-ups that work but surely are not meant, each once.

import { warnOnce } from '../../base/warnings.js'
import type { Decision } from '../../limiter/decision.js'
import type { Store } from '../../store.js'
import type { HttpAdapter } from '../adapter.js'

const FORWARDING = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
]

const ONE = 'so all clients behind the proxy count as one'

/**
 * Checks whether the framework's address of a request is the client's. True: there is nothing more
 * to find out from other requests.
 */
export function checkTrust<Req>(
  request: Req,
  adapter: Pick<HttpAdapter<Req, never>, 'trust' | 'header' | 'headers' | 'address' | 'peer'>,
): boolean {
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
    const forwarding = FORWARDING.find(
      (name) => (headers ? headers[name] : adapter.header(request, name)) !== undefined,
    )
    if (forwarding === undefined) return false
    // Somebody before the limiter has found the client.
    if (adapter.address(request) !== adapter.peer(request)) return false
    const what = `requests come with ${forwarding}, but no proxy is trusted`
    const remedy = 'tell the framework (or the option proxies) which proxies to trust'
    warnOnce('WEIR_FORWARDED_IGNORED', '', `${what}, ${ONE}; ${remedy}`)
  }
  return true
}

/** Counters in the memory of one of several processes let each of them grant the whole limit. */
export function warnOfMemoryInCluster(store: Store): void {
  if (!store.local || !isOneOfMany()) return
  const what = 'each process of this cluster counts for itself in its own memory'
  warnOnce('WEIR_MEMORY_IN_CLUSTER', '', `${what}, so that the limit is multiplied; use redisStore`)
}

/** So many limiters, none of which is ever used again, are hardly kept anywhere. */
const MANY = 100
let made = 0

/** The first request of a limiter that was made by its handler: if others do the same, it is the
 *  last one, too. */
export function noticeMadeInRequest(): void {
  made += 1
  if (made !== MANY) return
  const what = `${MANY} limiters were made while requests were handled, and none was used again`
  warnOnce('WEIR_MADE_IN_REQUEST', '', `${what}; so they limit nothing: make them at start`)
}

/** The second request of such a limiter: they are kept, as one for each tenant is. */
export function noticeUsedAgain(): void {
  made = Number.POSITIVE_INFINITY
}

/** A limiter decides on a request again. Nothing is wrong where one of the passes took nothing. */
export function checkSecondPass(name: string, first: Decision, second: Decision): void {
  if (!first.allowed || !costs(first) || !costs(second)) return
  const what = `limiter "${name}" decided on a request again that it had charged already`
  warnOnce('WEIR_MOUNTED_TWICE', name, `${what}; mount it once, or make two limiters`)
}

function costs({ policies }: Decision): boolean {
  return policies.some(({ cost }) => cost > 0)
}

interface Host {
  readonly env?: Readonly<Record<string, string | undefined>>
  getBuiltinModule?(id: string): { readonly isWorker?: boolean } | undefined
}

/** A worker of node:cluster, or an instance but the first of a process manager (PM2's variable). */
function isOneOfMany(): boolean {
  const { process } = globalThis as { process?: Host }
  return (
    process?.getBuiltinModule?.('node:cluster')?.isWorker === true ||
    Number(process?.env?.NODE_APP_INSTANCE) > 0
  )
}
