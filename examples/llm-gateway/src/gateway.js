// @ts-check
// The gateway as a handler for node:http: `POST /` completes, and `GET /usage` shows budgets.

import { once } from 'node:events'
import { complete, ProviderBusy } from './complete.js'
import { budgetsOf } from './limits.js'

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const MAX_BODY = 64 * 1_024
const MAX_TOKENS = 4_096
const MAX_TOOLS = 100

/**
 * @param {object} options
 * @param {import('./complete.js').Limiter & Pick<import('@weir/core').RateLimiter, 'peek'>}
 * options.limiter
 * @param {import('./complete.js').Ask} options.ask
 * @param {(apiKey: string) => string | undefined} options.userOf such as `acme/ann`
 * @returns {(req: Request, res: Response) => Promise<void>}
 */
export function gateway({ limiter, ask, userOf }) {
  return async (req, res) => {
    const left = new AbortController()
    res.once('close', () => left.abort())
    const { signal } = left
    try {
      const user = userOf(req.headers.authorization?.replace(/^Bearer /, '') ?? '')
      if (user === undefined) return refuse(res, 401, 'invalid_api_key')
      const { 'x-session': session = 'main', 'x-run': name = 'main' } = req.headers
      const run = `${user}/${session}/${name}`
      // The key of a run is that of its session, a slash, and its name.
      if (!/^(\w[\w-]{0,63}\/){3}\w[\w-]{0,63}$/.test(run)) return refuse(res, 400, 'invalid_run')
      if (req.url === '/usage') return showUsage(res, await limiter.peek(run))
      const completion = completionOf(await bodyOf(req))
      if (completion === undefined) return refuse(res, 400, 'invalid_request')
      const isAllowed = await complete(
        { limiter, ask },
        { run, completion, signal },
        {
          decided(decision, model, low) {
            res.setHeader('x-model', model)
            for (const { policy, remaining } of budgetsOf(decision))
              res.setHeader(`x-left-${policy.name}`, remaining)
            if (low.length > 0) res.setHeader('x-low', low.join(', '))
            if (decision.allowed) return
            const { name } = decision.policy
            if (decision.reason === 'blocked') refuseBusy(res, decision.retryAfterMs)
            else refuse(res, 429, 'budget_exceeded', name, decision.retryAfterMs)
          },
          async write({ text, usage }) {
            if (!res.headersSent) res.writeHead(200, { 'Content-Type': 'text/event-stream' })
            // Waits for a slow client, but not for one that has left.
            if (!res.write(event({ text, usage }))) await once(res, 'drain', { signal })
          },
          stopped: (budget) => void res.write(event({ stopped: budget })),
        },
      )
      if (isAllowed) res.end('data: [DONE]\n\n')
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ProviderBusy) return refuseBusy(res, error.retryAfterMs)
      // A partial stream is not a response: the client must see that it broke off.
      if (res.headersSent) res.destroy()
      else refuse(res, 502, 'model_failed')
      console.error(`the model failed: ${/** @type {Error} */ (error).message}`)
    }
  }
}

/** What is spent or held, and what is left. While Redis is away, this process does not know.
 *  @param {Response} res @param {import('@weir/core').Decision} decision */
function showUsage(res, decision) {
  if (decision.degraded) return refuse(res, 503, 'usage_unknown')
  const shown = budgetsOf(decision).map(({ policy, limit, remaining }) => [
    policy.name,
    { used: limit - remaining, left: remaining },
  ])
  json(res, 200, Object.fromEntries(shown))
}

/** @param {object} data */
function event(data) {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** @param {Response} res @param {number} status @param {object} data */
function json(res, status, data) {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(data))
}

/** Where no time helps, there is no Retry-After.
 *  @param {Response} res @param {number} status @param {string} code @param {string} [type]
 *  @param {number} [retryAfterMs] */
function refuse(res, status, code, type = code, retryAfterMs = Number.POSITIVE_INFINITY) {
  if (Number.isFinite(retryAfterMs)) res.setHeader('Retry-After', Math.ceil(retryAfterMs / 1_000))
  json(res, status, { error: { code, type } })
}

/** @param {Response} res @param {number} retryAfterMs */
function refuseBusy(res, retryAfterMs) {
  refuse(res, 503, 'provider_busy', 'provider', retryAfterMs)
}

/** Reads the whole body, so that the client sees a refusal, but keeps at most `MAX_BODY` of it.
 *  @param {Request} req */
async function bodyOf(req) {
  let body = ''
  for await (const chunk of req.setEncoding('utf8')) if (body.length <= MAX_BODY) body += chunk
  return body.length <= MAX_BODY ? body : ''
}

/** @param {string} body @returns {import('./limits.js').Completion | undefined} */
function completionOf(body) {
  try {
    const { prompt, max_tokens: maxTokens = 256, max_tools: maxTools = 0 } = JSON.parse(body)
    const isRight =
      typeof prompt === 'string' &&
      isWhole(maxTokens, 1, MAX_TOKENS) &&
      isWhole(maxTools, 0, MAX_TOOLS)
    return isRight ? { prompt, maxTokens, maxTools } : undefined
  } catch {
    return undefined
  }
}

/** @param {number} value @param {number} least @param {number} most */
function isWhole(value, least, most) {
  return Number.isInteger(value) && value >= least && value <= most
}
