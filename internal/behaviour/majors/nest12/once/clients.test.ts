// Real clients that retry by themselves: each waits as long as it is told and then gets through,
// and none hammers the server. Time is real here, since the clocks of the clients are tested. One
// framework is enough: all send the same headers (transcript.test.ts of internal/behaviour).

import { setTimeout as sleep } from 'node:timers/promises'
import { Octokit } from '@octokit/core'
import { throttling } from '@octokit/plugin-throttling'
import { type Decision, fixedWindow, memoryStore, type Policy, slidingWindow } from '@weir/core'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import got from 'got'
import ky from 'ky'
import * as rax from 'retry-axios'
import { Agent, RetryAgent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { adapter as expressServer } from '../../../../../packages/express/test/behaviour.js'
import { type AtEnd, ask, serve } from '../../../test/client.js'
import type { Settings } from '../../../test/servers/kind.js'

const START_US = Date.UTC(2026, 0, 1) * 1_000

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

describe.concurrent.each(clients)('$name', (client) => {
  test('waits as long as it is told, and then gets through', async ({ onTestFinished }) => {
    const seen: Decision[] = []
    const policy = slidingWindow({ limit: 1, window: '1s' })
    const url = await serveOnce(policy, onTestFinished, (decision) => seen.push(decision))
    expect(await client.get(url, new AbortController().signal)).toBe(200)
    // A retry before its time would have been refused.
    expect(seen.map(({ allowed }) => allowed)).toEqual([false, true])
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
    show: (decision: Decision) => unknown,
  ): Promise<string> {
    let deniedMs: number | undefined
    let watching = false
    const onDecision = (decision: Decision) => {
      if (!watching) return
      deniedMs ??= performance.now()
      show(decision)
    }
    // The clock stands still until the first request is refused, however late that comes.
    const nowUs = () => (deniedMs === undefined ? 0 : (performance.now() - deniedMs) * 1_000)
    const store = memoryStore({ clock: { nowUs: () => START_US + Math.round(nowUs()) } })
    const { headers } = client
    const limiters = [{ store, policy, headers, onDecision }]
    const { url } = await serve(expressServer, { limiters }, finished)
    expect((await ask(url)).status).toBe(200)
    watching = true
    return url
  }
})
