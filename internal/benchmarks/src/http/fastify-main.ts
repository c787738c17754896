// A process with one Fastify app, which gets requests without a socket. For each message, it
// measures what a request costs.

import { strict as assert } from 'node:assert'
import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import { recommendedRedisOptions } from '@weir/core'
import { rateLimitPlugin, redisStore } from '@weir/fastify'
import Fastify, { type FastifyInstance } from 'fastify'
import { connected } from '../redis/client.js'
import { CLIENTS } from './job.js'

export interface FastifyJob {
  readonly kind: 'none' | 'weir' | 'peer'
  /** Undefined: in memory. */
  readonly port?: number
}

const { kind, port } = JSON.parse(process.argv[2] as string) as FastifyJob
const LIMIT = 1_000_000
const WINDOW_MS = 3_600_000
/** The number of requests that are measured together. */
const SLICE = 64
/** V8 has optimized the code by then, however busy the machine is. */
const WARM_UP = 1_000
const addresses = Array.from({ length: CLIENTS }, (_, i) => `10.1.${i >> 8}.${i & 255}`)

let answered = 0
let all = (): void => {}

async function appOf(limit: number): Promise<FastifyInstance> {
  const app = Fastify()
  if (kind === 'weir') await app.register(rateLimitPlugin, await weir(limit))
  if (kind === 'peer') await app.register(rateLimit, await peer(limit))
  app.addHook('onSend', (_request, _reply, _payload, done) => {
    answered += 1
    if (answered % SLICE === 0) setImmediate(all)
    done()
  })
  app.get('/', (_request, reply) => void reply.send('ok'))
  await app.ready()
  return app
}

async function weir(limit: number) {
  const options = { name: `api-${limit}`, limit, window: WINDOW_MS }
  if (port === undefined) return options
  return { ...options, store: redisStore(await connected(port, recommendedRedisOptions)) }
}

async function peer(max: number) {
  const options = { max, timeWindow: WINDOW_MS, enableDraftSpec: true, cache: 2 * CLIENTS }
  if (port === undefined) return options
  // As its README recommends.
  const redis = await connected(port, { connectTimeout: 500, maxRetriesPerRequest: 1 })
  return { ...options, redis, nameSpace: `peer-${max}-` }
}

function ask(app: FastifyInstance, remoteAddress: string): ServerResponse {
  const request = new IncomingMessage({ remoteAddress } as Socket)
  Object.assign(request, { method: 'GET', url: '/', headers: { host: 'localhost' } })
  const response = new ServerResponse(request)
  app.routing(request, response)
  return response
}

/** Sends as many requests as are measured together, in one turn of the event loop. */
async function slice(app: FastifyInstance): Promise<void> {
  const done = new Promise<void>((resolve) => {
    all = resolve
  })
  for (let i = 0; i < SLICE; i += 1) ask(app, nextAddress())
  await done
}

/** One after the other: @fastify/rate-limit refuses all of several that come in one turn. */
async function checkLimit(app: FastifyInstance): Promise<void> {
  let passed = 0
  for (let i = 0; i < SLICE; i += 1) {
    const before = answered
    const response = ask(app, '10.9.9.9')
    while (answered === before) await new Promise((resolve) => setImmediate(resolve))
    if (response.statusCode === 200) passed += 1
  }
  assert.equal(passed, 10, `${kind} let ${passed} requests pass at a limit of 10`)
}

let client = 0
function nextAddress(): string {
  client = (client + 1) % CLIENTS
  return addresses[client] as string
}

if (kind !== 'none') await checkLimit(await appOf(10))
const app = await appOf(LIMIT)
for (let i = 0; i < WARM_UP; i += 1) await slice(app)
process.on('message', async (forMs: number) => {
  let [cpuUs, requests] = [0, 0]
  for (const end = performance.now() + forMs; performance.now() < end; requests += SLICE) {
    const before = process.cpuUsage()
    await slice(app)
    const { user, system } = process.cpuUsage(before)
    cpuUs += user + system
  }
  process.send?.({ us: cpuUs / requests })
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
