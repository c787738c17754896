// @ts-check
// An adapter for plain node:http. @weir/core/http knows what limits mean: the adapter reads
// requests, writes responses and sends refusals.

import { afterNodeResponse, httpLimiter } from '@weir/core/http'

/** @typedef {import('@weir/core/http').RequestDecision} RequestDecision */
/** @typedef {import('node:http').IncomingMessage & { rateLimit?: RequestDecision }} Request */
/** @typedef {import('node:http').ServerResponse} Response */

/** @type {import('@weir/core/http').HttpAdapter<Request, Response>} */
const nodeHttp = {
  address: (req) => req.socket.remoteAddress,
  peer: (req) => req.socket.remoteAddress,
  trust: () => 'nobody',
  method: (req) => req.method ?? '',
  header: (req, name) => req.headers[name]?.toString(),
  placed: (req, _, property) => Reflect.get(req, property),
  place: (req, decision, _, property) => void Object.assign(req, { [property]: decision }),
  headersSent: (res) => res.headersSent,
  setHeader: (res, name, value) => void res.setHeader(name, value),
  afterResponse: afterNodeResponse,
}

/**
 * Puts a limit before a handler.
 * @param {import('@weir/core/http').LimitOptions<Request>} options
 * @param {(req: Request, res: Response) => unknown} handler
 * @returns {(req: Request, res: Response) => Promise<void>}
 */
export function limited(options, handler) {
  const { check } = httpLimiter(options, nodeHttp)
  return async (req, res) => {
    const refusal = await check(req, res)
    if (refusal === undefined) await handler(req, res)
    else res.writeHead(refusal.status, { 'Content-Type': refusal.mediaType }).end(refusal.body)
  }
}
