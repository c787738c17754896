// A request's client, as each platform tells it. Nothing here is a default: what can be believed
// depends on where an application runs.

import type { Client, OutgoingResponse } from './index.js'

interface NodeEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } | null }
  readonly outgoing?: OutgoingResponse | undefined
}

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null
}

interface DenoInfo {
  readonly remoteAddr: object
}

interface Finders {
  node(env?: NodeEnv): Client
  bun(request: Request, server: BunServer): Client
  deno(info: DenoInfo): Client
  cloudflare(request: Request): Client
  vercel(request: Request): Client
}

/**
 * Finds a request's client by what the platform says of it:
 *
 * - `node({ incoming, outgoing })`: by Node's request and response, which Hono has as `c.env`
 * - `bun(request, server)`: by the arguments of Bun's `fetch`
 * - `deno(info)`: by the second argument of the handler of `Deno.serve`
 * - `cloudflare(request)`: by `CF-Connecting-IP`, which Cloudflare overwrites
 * - `vercel(request)`: by `X-Real-IP`, which Vercel overwrites
 *
 * Take one of the last two only where no request can come past that platform: otherwise clients
 * choose their address.
 */
export const clientAddress: Finders = {
  // Hono's `app.request` has no server.
  node: ({ incoming, outgoing } = {}) => ({ address: incoming?.socket?.remoteAddress, outgoing }),
  bun: (request, server) => ({ address: server.requestIP(request)?.address }),
  deno: ({ remoteAddr }) => ({ address: (remoteAddr as { hostname?: string }).hostname }),
  cloudflare: (request) => ({ address: request.headers.get('cf-connecting-ip') ?? undefined }),
  vercel: (request) => ({ address: request.headers.get('x-real-ip') ?? undefined }),
}
