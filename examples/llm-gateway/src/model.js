// @ts-check
// A fake model API that streams, with the failures of a real one; and its client.

import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProviderBusy } from './complete.js'

/** @typedef {import('./complete.js').Piece} Piece */

/**
 * Repeats the words of the prompt, up to `maxTokens`, one token each; the word "tool" calls a tool,
 * up to `maxTools`. It fails on the prompt "fail", answers "busy" with 429, breaks off after three
 * words of "crash", and hangs after 80 of "hang".
 */
export function fakeModelApi() {
  return createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const { prompt, maxTokens, maxTools } = JSON.parse(body)
    if (prompt === 'fail') return res.writeHead(500).end()
    if (prompt === 'busy') return res.writeHead(429, { 'Retry-After': '2' }).end()
    const words = prompt.split(/\s+/)
    // Models count tokens in their own way, so no estimate is exact.
    const input = 3 + Math.ceil(prompt.length / 4)
    let tools = 0
    for (let output = 1; output <= maxTokens && !res.destroyed; output += 1) {
      const text = words[(output - 1) % words.length]
      if (text === 'tool' && tools < maxTools) tools += 1
      res.write(`${JSON.stringify({ text, usage: { turns: 1, tools, input, output } })}\n`)
      if (output % 8 === 3) await sleep(2)
      if (output === 3 && prompt === 'crash') return res.destroy()
      if (output === 80 && prompt === 'hang') return
    }
    res.end()
  })
}

/**
 * @param {string} url
 * @returns {import('./complete.js').Ask}
 */
export function modelAt(url) {
  return async function* pieces(model, completion, signal) {
    const body = JSON.stringify({ model, ...completion })
    const response = await fetch(url, { method: 'POST', body, signal })
    if (response.status === 429)
      throw new ProviderBusy(1_000 * (Number(response.headers.get('retry-after')) || 1))
    if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`)
    const input = Readable.fromWeb(
      /** @type {import('node:stream/web').ReadableStream} */ (response.body),
    )
    for await (const line of linesOf(input)) yield/** @type {Piece} */ (JSON.parse(line))
  }
}

/** @param {Readable} input */
async function* linesOf(input) {
  let rest = ''
  for await (const chunk of input.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
