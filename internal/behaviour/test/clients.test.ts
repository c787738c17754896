// Real clients that retry by themselves: each waits as long as it is told and then gets through,
// and none hammers the server. Time is real here, since the clocks of the clients are tested.

import { setTimeout as sleep } from 'node:timers/promises'
import { Octokit } from '@octokit/core'
import { throttling } from '@octokit/plugin-throttling'
import { type Decision, fixedWindow, type Policy, slidingWindow } from '@weir/core'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import got from 'got'
import ky from 'ky'
import * as rax from 'retry-axios'
import { Agent, RetryAgent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type AtEnd, ask, serve } from './client.js'
import type { Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

interface Client {
  readonly name: string
  readonly headers: Settings['headers'] & string
  /** How many requests it sends at once if it is told to wait for longer than a timer can, 24.8
   *  days: its timer fires at once, once for each retry. Default 1. */
  readonly beyondTimers?: number
  /** Requests the URL, retries by the client's own defaults, and returns the final status. */
  get(url: string, signal: AbortSignal): Promise<number>
}

const clients: readonly Client[] = [
  {
    name: 'got 14',
    headers: 'draft-8',
    beyondTimers: 3,
    get: async (url, signal) => (await got(url, { signal })).statusCode,
  },
  {
    name: 'ky 1',
    headers: 'draft-8',
    get: async (url, signal) => (await ky(url, { signal })).status,
  },
  {
    name: 'axios-retry',
    headers: 'draft-8',
    beyondTimers: 4,
    get: async (url, signal) => {
      const client = axios.create()
      axiosRetry(client)
      return (await client.get(url, { signal })).status
    },
  },
  {
    name: 'retry-axios',
    headers: 'draft-8',
    get: async (url, signal) => {
      const client = axios.create()
      rax.attach(client)
      return (await client.get(url, { signal })).status
    },
  },
  {
    name: 'undici RetryAgent 7',
    headers: 'draft-8',
    get: async (url, signal) => {
      const agent = new Agent()
      const leave = () => void agent.destroy()
      signal.addEventListener('abort', leave)
      const { statusCode, body } = await request(url, { dispatcher: new RetryAgent(agent), signal })
      await body.dump()
      await agent.close()
      return statusCode
    },
  },
  {
    name: 'Octokit throttling',
    headers: 'legacy',
    get: async (url, signal) => {
      const octokit = new (Octokit.plugin(throttling))({
        baseUrl: url,
        request: { signal },
        log: { debug() {}, info() {}, warn() {}, error() {} },
        throttle: {
          // As in its README: retries once.
          onRateLimit: (_wait, _options, _octokit, retries) => retries === 0,
          onSecondaryRateLimit: () => false,
        },
      })
      return (await octokit.request('GET /')).status
    },
  },
]

// Node warns of timers that are too long; these clients set them.
beforeAll(() => {
  const { emitWarning } = process
  vi.spyOn(process, 'emitWarning').mockImplementation(((...args: [string, string]) => {
    if (args[1] !== 'TimeoutOverflowWarning') emitWarning(...args)
  }) as typeof emitWarning)
})
afterAll(() => void vi.restoreAllMocks())

const cases = servers.flatMap((kind) => clients.map((client) => ({ kind, client })))

describe.concurrent.each(cases)('$client.name, $kind.name', ({ kind, client }) => {
  test('waits as long as it is told, and then gets through', async ({ onTestFinished }) => {
    const seen: { readonly decision: Decision; readonly at: number }[] = []
    // Longer than a busy machine takes to send the first request.
    const policy = slidingWindow({ limit: 1, window: '4s' })
    const url = await serveOnce(policy, onTestFinished, (decision) => {
      seen.push({ decision, at: performance.now() })
    })
    expect(await client.get(url, new AbortController().signal)).toBe(200)
    expect(seen.map(({ decision }) => decision.allowed)).toEqual([false, true])
    const [first, second] = seen
    const waited = (second?.at ?? 0) - (first?.at ?? 0)
    const wait = first?.decision.allowed === false ? first.decision.retryAfterMs : Number.NaN
    expect(waited).toBeGreaterThanOrEqual(wait - 2)
    // Whole seconds, rounded up, plus what the client adds.
    expect(waited).toBeLessThan(wait + 20_000)
  })

  test.for([
    ['as long as a timer can', '20d', 1],
    ['for months', '60d', client.beyondTimers ?? 1],
  ] as const)(
    'does not hammer when told to wait %s',
    async ([, window, most], { onTestFinished }) => {
      let requests = 0
      let asked: () => void = () => {}
      const first = new Promise<void>((resolve) => {
        asked = resolve
      })
      const policy = fixedWindow({ limit: 1, window })
      const url = await serveOnce(policy, onTestFinished, () => {
        requests += 1
        asked()
      })
      const leaving = new AbortController()
      const got = client.get(url, leaving.signal).catch(() => undefined)
      await first
      await sleep(1_500)
      expect(requests).toBeLessThanOrEqual(most)
      leaving.abort()
      await Promise.race([got, sleep(100)])
    },
  )

  /** A server that allows one request, which has been used. Records decisions from then on. */
  async function serveOnce(
    policy: Policy,
    finished: AtEnd,
    show: (decision: Decision) => void,
  ): Promise<string> {
    let watching = false
    const onDecision = (decision: Decision) => {
      if (watching) show(decision)
    }
    const { headers } = client
    const { url } = await serve(kind, { limiters: [{ policy, headers, onDecision }] }, finished)
    expect((await ask(url)).status).toBe(200)
    watching = true
    return url
  }
})
