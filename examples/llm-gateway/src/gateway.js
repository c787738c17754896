// @ts-check
// The gateway as a handler for node:http.

import { once } from 'node:events'
import { complete } from './complete.js'
import { openAiHeaders } from './headers.js'

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const MAX_BODY = 64 * 1_024
const MAX_TOKENS = 4_096

/**
 * @param {object} options
 * @param {import('./complete.js').Limiter} options.limiter
 * @param {import('./complete.js').Model} options.model
 * @param {(apiKey: string) => string | undefined} options.customerOf
 * @returns {(req: Request, res: Response) => Promise<void>}
 */
export function gateway({ limiter, model, customerOf }) {
  return async (req, res) => {
    const left = new AbortController()
    res.once('close', () => left.abort())
    const { signal } = left
    try {
      const customer = customerOf(req.headers.authorization?.replace(/^Bearer /, '') ?? '')
      if (customer === undefined) return refuse(res, 401, 'invalid_api_key')
      const completion = completionOf(await bodyOf(req))
      if (completion === undefined) return refuse(res, 400, 'invalid_request')
      const isAllowed = await complete(
        { limiter, model },
        { customer, completion, signal },
        {
          decided(decision) {
            for (const [name, value] of Object.entries(openAiHeaders(decision)))
              res.setHeader(name, value)
            if (!decision.allowed) refuse(res, 429, 'rate_limit_exceeded', decision.policy.name)
          },
          async write({ text, usage }) {
            if (!res.headersSent) res.writeHead(200, { 'Content-Type': 'text/event-stream' })
            // Waits for a slow client, but not for one that has left.
            if (!res.write(event({ text, usage }))) await once(res, 'drain', { signal })
          },
        },
      )
      if (isAllowed) res.end('data: [DONE]\n\n')
    } catch (error) {
      if (signal.aborted) return
      // A partial stream is not a response: the client must see that it broke off.
      if (res.headersSent) res.destroy()
      else refuse(res, 502, 'model_failed')
      console.error(`the model failed: ${/** @type {Error} */ (error).message}`)
    }
  }
}

/** @param {object} data */
function event(data) {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** @param {Response} res @param {number} status @param {string} code @param {string} [type] */
function refuse(res, status, code, type = code) {
  res
    .writeHead(status, { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ error: { code, type } }))
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
    const { prompt, max_tokens: maxTokens = 256 } = JSON.parse(body)
    const isRight = Number.isInteger(maxTokens) && maxTokens > 0 && maxTokens <= MAX_TOKENS
    return typeof prompt === 'string' && isRight ? { prompt, maxTokens } : undefined
  } catch {
    return undefined
  }
}
