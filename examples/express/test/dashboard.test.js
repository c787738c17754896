// @ts-check
// What a user sees in the first minute after typing `npm start`.
import { startRedis } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { started } from './started.js'

test('the printed address opens the dashboard, and the button makes its figures move', async () => {
  const { url, board, output, stop } = await started()
  const { look, cookie } = await opened(board)

  const first = await look()
  expect(first.viewer.mayAct).toBe(true)
  expect(first.limiters.map(({ name }) => name)).toEqual(['hello', 'search'])
  // The burst that the example sends itself, and nothing else.
  expect(first.limiters.map(decided)).toEqual([6, 3])

  const page = await get(url)
  expect(page.text).toContain('No traffic runs.')
  expect(await press(url, page.text)).toMatch(
    /<button>Stop<\/button>.*Traffic runs, for a minute at most\./s,
  )
  const moving = await look(
    ({ limiters }) =>
      limiters.every((limiter) => decided(limiter) > 20) &&
      limiters.some(({ refusedKeys }) => refusedKeys.length > 0),
  )
  expect(moving.limiters.map((limiter) => decided(limiter) > 20)).toEqual([true, true])

  const stopped = await press(url, (await get(url)).text)
  expect(stopped).toMatch(/No traffic runs\. \d+ requests so far, \d+ of them refused\./)
  const stoppedMs = Date.now()
  const before = await look(({ atMs }) => atMs > stoppedMs)
  const after = await look()
  expect(after.limiters.map(decided)).toEqual(before.limiters.map(decided))

  expect((await get(`${url}/weir/`, { cookie })).status).toBe(200)
  expect((await get(`${url}/weir/`)).status).toBe(401)
  expect(await stop(), output()).toBe(0)
})

test('Ctrl-C ends the example, on Redis as well, while traffic runs and a viewer is connected', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const { url, board, output, stop } = await started({ REDIS_URL: redis.url })
  const { look } = await opened(board)
  await press(url, (await get(url)).text)
  const printed = output()
  const seen = await look(({ limiters }) => limiters.every((limiter) => decided(limiter) > 8))
  expect(seen.limiters).toHaveLength(2)
  expect(await stop()).toBe(0)
  expect(output()).toBe(printed)
})

test('another site cannot press the button, and the page allows no script', async () => {
  const { url } = await started()
  const foreign = { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } }
  expect((await fetch(`${url}/traffic/start`, foreign)).status).toBe(403)
  expect((await fetch(`${url}/traffic/again`, { method: 'POST' })).status).toBe(404)
  const { text, policy } = await get(url)
  expect(text).toContain('No traffic runs.')
  expect(text).not.toMatch(/<script|style="| on\w+=/)
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]{44}';/)
})

/** The parts of each second's frame that the tests read.
 *  @typedef {object} Limiter
 *  @property {string} name
 *  @property {readonly { count: number }[]} decisions
 *  @property {readonly unknown[]} refusedKeys
 *  @typedef {{ atMs: number, viewer: { mayAct: boolean }, limiters: Limiter[] }} Frame */

/** @param {Limiter} limiter */
function decided({ decisions }) {
  return decisions.reduce((sum, { count }) => sum + count, 0)
}

/**
 * Follows the address as a browser does. `look` returns the next frame that meets the condition.
 * @param {string} address
 */
async function opened(address) {
  const entered = await fetch(address, { redirect: 'manual' })
  expect(entered.status).toBe(303)
  const cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const leave = new AbortController()
  onTestFinished(() => leave.abort())
  const events = new URL('events', address)
  const { body } = await fetch(events, { headers: { cookie }, signal: leave.signal })
  const reader = (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async () => {
    for (;;) {
      const end = text.indexOf('\n\n')
      const event = text.slice(0, Math.max(0, end))
      if (end >= 0) text = text.slice(end + 2)
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data !== undefined) return /** @type {Frame} */ (JSON.parse(data))
      if (end >= 0) continue
      const { value, done } = await reader.read()
      if (done) throw new Error('the dashboard has sent the viewer away')
      text += value
    }
  }
  /** @param {(frame: Frame) => boolean} holds */
  const look = async (holds = () => true) => {
    for (;;) {
      const frame = await next()
      if (holds(frame)) return frame
    }
  }
  return { look, cookie }
}

/**
 * @param {string} url
 * @param {Record<string, string>} [headers]
 */
async function get(url, headers = {}) {
  const response = await fetch(url, { headers })
  const policy = response.headers.get('content-security-policy')
  return { status: response.status, policy, text: await response.text() }
}

/**
 * Submits the form of a page as a browser does, and returns the page that it leads to.
 * @param {string} url
 * @param {string} page
 */
async function press(url, page) {
  const action = /<form method="post" action="([^"]+)">/.exec(page)?.[1] ?? ''
  const headers = { 'sec-fetch-site': 'same-origin' }
  return (await fetch(url + action, { method: 'POST', headers })).text()
}
