// @ts-check
// Sends requests at a rate, whether or not earlier ones have been answered, as clients do.
import { Agent, request } from 'node:http'

/**
 * @typedef {object} Sent
 * @property {number} atMs when it was sent, in ms from the start
 * @property {number} tookMs
 * @property {number} status 0 if it failed or its client left
 */

/**
 * @param {number} port
 * @param {object} options
 * @param {number} options.perSecond
 * @param {number} options.forMs
 * @param {number} options.patienceMs after which clients leave
 * @param {string} [options.key] of the customer
 * @returns {Promise<Sent[]>}
 */
export async function send(port, { perSecond, forMs, patienceMs, key }) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 512 })
  const headers = key === undefined ? {} : { 'x-api-key': key }
  const options = { host: '127.0.0.1', port, agent, timeout: patienceMs, headers }
  const startMs = performance.now()
  /** @type {Promise<Sent>[]} */
  const all = []
  // Sends several at a time, since timers do not fire often enough for single ones.
  for (let nowMs = 0; nowMs < forMs; nowMs = performance.now() - startMs) {
    const due = Math.floor((nowMs * perSecond) / 1_000) - all.length
    for (let i = 0; i < due; i += 1) all.push(one(options, startMs))
    await new Promise((next) => setTimeout(next, 5))
  }
  const sent = await Promise.all(all)
  agent.destroy()
  return sent
}

/**
 * @param {import('node:http').RequestOptions} options
 * @param {number} startMs
 * @returns {Promise<Sent>}
 */
function one(options, startMs) {
  const atMs = performance.now() - startMs
  return new Promise((settle) => {
    /** @param {number} status */
    const end = (status) => {
      settle({ atMs, tookMs: performance.now() - startMs - atMs, status })
    }
    const client = request(options)
    client.on('timeout', () => client.destroy())
    client.on('error', () => end(0))
    client.on('response', (response) => {
      response.on('end', () => end(response.statusCode ?? 0)).resume()
    })
    client.end()
  })
}
