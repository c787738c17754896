// What users of a limiter experience while Redis fails, under a load that comes whether or not
// earlier requests were answered.

import { setTimeout as sleep } from 'node:timers/promises'
import { recommendedRedisOptions, redisStore } from '@weir/core'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import type { Counting, Incumbent, Version } from './incumbent.js'

/** Times are in seconds. */
export interface Length {
  readonly before: number
  readonly outage: number
  readonly after: number
  /** The limit of a key in an hour. */
  readonly limit: number
}

/** The lengths for the table. */
export const FULL: Length = { before: 2, outage: 5, after: 3, limit: 200 }
/** The lengths in CI. */
export const SHORT: Length = { before: 0.4, outage: 1, after: 0.8, limit: 40 }

export const PER_SECOND = 50
/** How often due requests are sent. */
const TURN_MS = 5
const HOUR_MS = 3_600_000
/** A request without an answer after this time hangs. */
const DRAIN_MS = 30_000

export const OUTAGES = {
  frozen: 'frozen and resumed',
  killed: 'killed, and started anew at the end',
  restarted: 'stopped, and started anew at once',
} as const
export type Outage = keyof typeof OUTAGES

export interface Measured {
  readonly requests: number
  /** The slowest answers before the outage, and from then on. */
  readonly healthyMs: number
  readonly longestMs: number
  /** Responses with a status from 500 on, and connections that were cut. */
  readonly failed: number
  readonly unanswered: number
  readonly admitted: number
}

export async function measure(
  incumbent: Incumbent,
  kind: Counting['kind'],
  outage: Outage,
  length: Length,
): Promise<Measured> {
  const first = await startRedis()
  const { port } = first
  const client = kind === 'own' ? incumbent.client(port) : new Redis(port, recommendedRedisOptions)
  client.on('error', () => {})
  const store = kind === 'own' ? undefined : redisStore(client)
  let server: RedisServer = first
  try {
    await new Promise((resolve) => client.once('ready', resolve))
    const counting: Counting =
      store === undefined
        ? { kind: 'own', redis: client, prefix: 'outage' }
        : { kind: 'weir', store, name: 'outage' }
    const [newest] = incumbent.versions
    const options = incumbent.limitedTo(length.limit, HOUR_MS)
    const running = await (newest as Version).serve(counting, options)
    try {
      const load = loadOn(running.url, incumbent.passed)
      await sleep(length.before * 1_000)
      load.outage()
      server = await fail(outage, server, length.outage * 1_000)
      await sleep(length.after * 1_000)
      return await load.stop()
    } finally {
      await running.close()
    }
  } finally {
    await store?.close()
    client.disconnect()
    await server.stop()
  }
}

/** Returns the server that runs afterwards. */
async function fail(outage: Outage, server: RedisServer, forMs: number): Promise<RedisServer> {
  if (outage === 'frozen') {
    server.kill('SIGSTOP')
    await sleep(forMs)
    server.kill('SIGCONT')
    return server
  }
  if (outage === 'killed') server.kill('SIGKILL')
  await server.stop()
  if (outage === 'killed') await sleep(forMs)
  const next = await startRedis({ port: server.port })
  if (outage === 'restarted') await sleep(forMs)
  return next
}

interface Load {
  /** Begins the outage. */
  outage(): void
  stop(): Promise<Measured>
}

function loadOn(url: string, passed: number): Load {
  const statuses: number[] = []
  const samples: { readonly atMs: number; readonly ms: number }[] = []
  const pending = new Set<Promise<void>>()
  let [requests, outageMs] = [0, 0]

  async function request(): Promise<void> {
    requests += 1
    const atMs = performance.now()
    const answer = await fetch(url, { headers: { 'x-user': 'ann' } }).catch(() => undefined)
    await answer?.text().catch(() => {})
    statuses.push(answer?.status ?? 599)
    samples.push({ atMs, ms: performance.now() - atMs })
  }

  const begunMs = performance.now()
  const load = setInterval(() => {
    const due = Math.floor(((performance.now() - begunMs) * PER_SECOND) / 1_000)
    while (requests < due) {
      const asked: Promise<void> = request().finally(() => pending.delete(asked))
      pending.add(asked)
    }
  }, TURN_MS)

  return {
    outage() {
      outageMs = performance.now()
    },
    async stop() {
      const stoppedMs = performance.now()
      clearInterval(load)
      await Promise.race([Promise.all(pending), sleep(DRAIN_MS, undefined, { ref: false })])
      if (pending.size > 0) samples.push({ atMs: stoppedMs, ms: performance.now() - stoppedMs })
      const longest = (of: typeof samples): number => Math.max(0, ...of.map(({ ms }) => ms))
      return {
        requests,
        healthyMs: longest(samples.filter(({ atMs, ms }) => atMs + ms < outageMs)),
        longestMs: longest(samples.filter(({ atMs, ms }) => atMs + ms >= outageMs)),
        failed: statuses.filter((status) => status >= 500).length,
        unanswered: pending.size,
        admitted: statuses.filter((status) => status === passed).length,
      }
    },
  }
}
