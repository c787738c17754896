// @ts-check
// A fake model API that streams, with the failures of a real one; and its client.

import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** @typedef {import('./complete.js').Piece} Piece */

/**
 * Repeats the words of the prompt, up to `maxTokens`, one token each. It fails on the prompt
 * "fail", breaks off after three words of "crash", and hangs after three words of "hang".
 */
export function fakeModelApi() {
  return createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const { prompt, maxTokens } = JSON.parse(body)
    if (prompt === 'fail') return res.writeHead(500).end()
    const words = prompt.split(/\s+/)
    // Models count tokens in their own way, so no estimate is exact.
    const input = 3 + Math.ceil(prompt.length / 4)
    for (let output = 1; output <= maxTokens && !res.destroyed; output += 1) {
      const text = words[(output - 1) % words.length]
      res.write(`${JSON.stringify({ text, usage: { input, output } })}\n`)
      await sleep(2)
      if (output === 3 && prompt === 'crash') return res.destroy()
      if (output === 3 && prompt === 'hang') return
    }
    res.end()
  })
}

/**
 * @param {string} url
 * @returns {import('./complete.js').Model}
 */
export function modelAt(url) {
  return async function* pieces(completion, signal) {
    const body = JSON.stringify(completion)
    const response = await fetch(url, { method: 'POST', body, signal })
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
