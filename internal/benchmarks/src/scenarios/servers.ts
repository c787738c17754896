// What a limiter adds to a request of a whole server.

import { strict as assert } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { startRedis } from '@weir/testkit'
import { endChild, nextMessage, startChild } from '../child.js'
import {
  CLIENT_HEADER,
  CLIENTS,
  type Framework,
  type Limiter,
  type Listening,
  type Load,
  type LoadJob,
  type ServerJob,
  type Usage,
} from '../http/job.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Kind, Metric, Row, Samples, Table } from '../table.js'

const CONNECTIONS = 32

interface ServerKind {
  readonly name: string
  readonly kind: Kind
  readonly framework: Framework
  readonly limiter: Limiter
  readonly redis: boolean
}

const PEERS: Readonly<Record<Framework, string>> = {
  Koa: 'koa-ratelimit',
  'Nest on Fastify': '@nestjs/throttler',
  Express: 'express-rate-limit',
}

const kinds: readonly ServerKind[] = (Object.keys(PEERS) as Framework[]).flatMap((framework) => [
  { name: framework, kind: 'floor' as const, framework, limiter: 'none' as const, redis: false },
  ...[false, true].flatMap((redis) => [
    { ...server(framework, 'Weir', redis), kind: 'weir' as const },
    { ...server(framework, 'peer', redis), kind: 'peer' as const },
  ]),
])

function server(framework: Framework, limiter: Limiter, redis: boolean): Omit<ServerKind, 'kind'> {
  return { name: nameOf(framework, limiter, redis), framework, limiter, redis }
}

function nameOf(framework: Framework, limiter: Limiter, redis: boolean): string {
  return `${framework}, ${limiter === 'Weir' ? limiter : PEERS[framework]}, ${redis ? 'Redis' : 'memory'}`
}

const metrics: readonly Metric[] = [
  { id: 'cpuUs', title: 'CPU, us', digits: 1, better: 'less' },
  {
    ...{ id: 'addedUs', title: 'added to the bare server, us', digits: 1, better: 'less' },
    base: nameOf('Koa', 'peer', false),
    expected: {
      [nameOf('Koa', 'peer', true)]: 3.3,
      [nameOf('Nest on Fastify', 'peer', false)]: 4.2,
      [nameOf('Nest on Fastify', 'peer', true)]: 3.9,
    },
  },
  { id: 'addedUserUs', title: 'of that, user mode', digits: 1, better: 'less' },
  { id: 'rate', title: 'requests/s', digits: 0, better: 'more' },
]

export const servers: Scenario = {
  id: 'servers',
  title: 'Whole servers',
  about: `CPU time of the server process for each request, ${CONNECTIONS} connections, ${CLIENTS} clients in turn, all allowed; load comes from another process. Weir limits by { limit, window } with draft-8 headers, which express-rate-limit also sends. Most of a request is system time: sending the response wakes the load process, which takes longer the less busy that process is, so compare user mode as well. Express itself takes so much that the added part is within the noise.`,
  goals: [],
  measure,
}

interface Running extends ServerKind, Listening {
  readonly child: ChildProcess
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const redis = await startRedis()
  const loader = startChild('http/load-main.js', {})
  const running: Running[] = []
  try {
    await nextMessage(loader)
    running.push(...(await Promise.all(kinds.map((kind) => started(kind, redis.port)))))
    for (const each of running) await checkLimit(each)
    await inRounds(running, 1, (each) => turnOf(loader, each, 4 * turnMs))
    const samples = await inRounds(running, rounds, (each) => turnOf(loader, each, 2 * turnMs))
    const rows = running.map((each, i): Row => {
      const bare = samples[running.findIndex((other) => isBareOf(other, each))]
      return {
        subject: each.name,
        kind: each.kind,
        samples: withAdded(samples[i] ?? {}, bare),
      }
    })
    return [{ id: 'servers', title: 'What a request costs', metrics, rows }]
  } finally {
    await Promise.all([loader, ...running.map((each) => each.child)].map(endChild))
    await redis.stop()
  }
}

function isBareOf(other: ServerKind, { framework }: ServerKind): boolean {
  return other.framework === framework && other.limiter === 'none'
}

function withAdded(samples: Samples, bare: Samples | undefined): Samples {
  const added = (metric: string): number[] => {
    return samples[metric]?.map((us, round) => us - (bare?.[metric]?.[round] as number)) ?? []
  }
  return { ...samples, addedUs: added('cpuUs'), addedUserUs: added('userUs') }
}

async function started(kind: ServerKind, redisPort: number): Promise<Running> {
  const { framework, limiter, redis } = kind
  const job: ServerJob = { framework, limiter, redisPort: redis ? redisPort : undefined }
  const child = startChild('http/server-main.js', job)
  return { ...kind, ...(await nextMessage<Listening>(child)), child }
}

async function turnOf(
  loader: ChildProcess,
  { child, port, name }: Running,
  forMs: number,
): Promise<Turn> {
  const before = await usage(child)
  loader.send({ port, connections: CONNECTIONS, clients: CLIENTS, forMs } satisfies LoadJob)
  const { requests, others } = await nextMessage<Load>(loader)
  assert.equal(
    others,
    0,
    `${name} answered ${others} of ${requests} requests otherwise than by 200`,
  )
  const after = await usage(child)
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    userUs: (after.userUs - before.userUs) / requests,
    rate: (requests / forMs) * 1_000,
  }
}

function usage(child: ChildProcess): Promise<Usage> {
  child.send('usage')
  return nextMessage<Usage>(child)
}

/** Checks that, with a limit of 10, 10 of 16 requests of a client get 200 and the others 429. */
async function checkLimit({ name, limiter, strictPort }: Running): Promise<void> {
  const headers = { [CLIENT_HEADER]: `checked-${name}` }
  const statuses: number[] = []
  for (let i = 0; i < 16; i += 1) {
    const { status } = await fetch(`http://127.0.0.1:${strictPort}/`, { headers })
    statuses.push(status)
  }
  const allowed = limiter === 'none' ? 16 : 10
  const expected = Array.from({ length: 16 }, (_, i) => (i < allowed ? 200 : 429))
  assert.deepEqual(statuses, expected, `${name} does not keep a limit of 10`)
}
