// What a limiter adds to a request of Hono, in memory and on Redis.

import type { ChildProcess } from 'node:child_process'
import { startRedis } from '@weir/testkit'
import { endChild, nextMessage, startChild } from '../child.js'
import type { Goal } from '../goals.js'
import { BARE, honoSubjects, INCUMBENT, WEIR } from '../http/hono.js'
import type { HonoJob } from '../http/hono-main.js'
import { CLIENTS } from '../http/job.js'
import { inRounds } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { median } from '../statistics.js'
import type { Metric, Table } from '../table.js'
import { middlewareTurn } from './middleware.js'

const metrics: readonly Metric[] = [
  { id: 'us', title: 'CPU, us', digits: 2, better: 'less', base: INCUMBENT },
]

const MEMORY = 'hono-memory'
const REDIS = 'hono-redis'
const goals: readonly Goal[] = [MEMORY, REDIS].map((table) => ({
  ...{ table, metric: 'us', what: 'CPU of a request of Hono', of: [WEIR] },
  ...{ per: INCUMBENT, peer: INCUMBENT, floor: undefined, atMost: 0.6 },
}))

export const hono: Scenario = {
  id: 'hono',
  title: 'Hono',
  about: `CPU time of a request of Hono, as @hono/node-server handles it, without that of the same application without a limiter; 64 requests at a time, ${CLIENTS.toLocaleString('en')} client addresses in turn, all allowed. Each application has a process of its own. On Redis, the time of the client is part of it.`,
  goals,
  async measure(scale) {
    const server = await startRedis()
    try {
      return [
        await tableOf(MEMORY, 'In memory', undefined, scale),
        await tableOf(REDIS, 'On Redis', server.port, scale),
      ]
    } finally {
      await server.stop()
    }
  },
}

async function tableOf(
  id: string,
  title: string,
  port: number | undefined,
  { rounds, turnMs }: Scale,
): Promise<Table> {
  const running: ChildProcess[] = []
  try {
    for (const { name } of honoSubjects) {
      const child = startChild('http/hono-main.js', { name, port } satisfies HonoJob)
      running.push(child)
      await nextMessage(child)
    }
    await inRounds(running, 2, (child) => middlewareTurn(child, 2 * turnMs))
    const samples = await inRounds(running, rounds, (child) => middlewareTurn(child, turnMs))
    const bare = median(samples[honoSubjects.findIndex(({ name }) => name === BARE)]?.us ?? [])
    const rows = honoSubjects.map(({ name, kind }, i) => {
      return { subject: name, kind, samples: { us: (samples[i]?.us ?? []).map((us) => us - bare) } }
    })
    return { id, title, metrics, rows: rows.slice(1) }
  } finally {
    await Promise.all(running.map(endChild))
  }
}
