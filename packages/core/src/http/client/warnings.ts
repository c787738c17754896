// Set-ups that work but surely are not meant: told once, where a request shows them.

import { warnOnce } from '../../base/warnings.js'
import type { Store } from '../../store.js'
import type { HttpAdapter } from '../adapter.js'

const FORWARDING = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
]
/** Behind a proxy every request shows it, but for probes that come from inside: the first are looked at, then a few. */
const FIRST_WATCHED = 100
const THEN_EVERY = 64

/** Looks at requests whose key is the framework's address, for signs that it is not the client's. */
export function trustWatcher<Req>(
  adapter: Pick<HttpAdapter<Req, never>, 'trust' | 'header'>,
): (request: Req) => void {
  let seen = 0
  let settled = false
  return (request) => {
    if (settled) return
    seen += 1
    if (seen > FIRST_WATCHED && seen % THEN_EVERY !== 0) return
    const trust = adapter.trust(request)
    if (trust === 'everybody') {
      warnOnce(
        'WEIR_TRUST_ALL',
        '',
        'the framework believes any X-Forwarded-For, so a client can make itself a new address for each request; tell it which proxies to trust',
      )
    } else if (trust === 'inert') {
      warnOnce(
        'WEIR_TRUST_INERT',
        '',
        'the framework has a proxy setting that trusts nobody, so all clients behind the proxy count as one; give it the addresses of the proxies',
      )
    } else if (trust === 'nobody') {
      const header = FORWARDING.find((name) => adapter.header(request, name) !== undefined)
      if (header === undefined) return
      warnOnce(
        'WEIR_FORWARDED_IGNORED',
        '',
        `requests come with ${header}, but no proxy is trusted, so all clients behind the proxy count as one; tell the framework (or the option proxies) which proxies to trust`,
      )
    }
    settled = true
  }
}

/** Counters in the memory of one of several processes let each of them grant the whole limit. */
export function warnOfMemoryInCluster(store: Store): void {
  if (!store.local || !isOneOfMany()) return
  warnOnce(
    'WEIR_MEMORY_IN_CLUSTER',
    '',
    'each process of this cluster counts for itself in its own memory, so that the limit is multiplied; use redisStore',
  )
}

interface Host {
  readonly env?: Readonly<Record<string, string | undefined>>
  getBuiltinModule?(id: string): { readonly isWorker?: boolean } | undefined
}

/** A worker of node:cluster, or an instance other than the first under a process manager (PM2's variable). */
function isOneOfMany(): boolean {
  const { process } = globalThis as { process?: Host }
  return (
    process?.getBuiltinModule?.('node:cluster')?.isWorker === true ||
    Number(process?.env?.NODE_APP_INSTANCE) > 0
  )
}
