// What a limiter adds to a request of Fastify and of Hono, in memory and on Redis. A whole run does
// not include this scenario; ask for it by name.

import { startRedis } from '@weir/testkit'
import { withChildren } from '../child.js'
import type { FrameworkJob } from '../http/framework-main.js'
import { type Application, applications, LEAST } from '../http/frameworks.js'
import { CLIENTS } from '../http/job.js'
import { inRounds } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Table } from '../table.js'
import { middlewareTurn } from './middleware.js'

export const frameworks: Scenario = {
  id: 'frameworks',
  title: 'Fastify and Hono',
  about: `CPU time that a limiter adds to a request, ${CLIENTS.toLocaleString('en')} client addresses in turn, all allowed, 64 requests at once; what a request takes without a limiter is subtracted. Each application has a process of its own. On Redis, the time of the client is part of it.`,
  async measure(scale) {
    const server = await startRedis()
    try {
      const tables: Table[] = []
      for (const port of [undefined, server.port]) {
        for (const framework of ['Fastify', 'Hono'] as const)
          tables.push(await tableOf(framework, port, scale))
      }
      return tables
    } finally {
      await server.stop()
    }
  },
}

async function tableOf(
  framework: Application['framework'],
  port: number | undefined,
  { rounds, turnMs }: Scale,
): Promise<Table> {
  const all = applications.filter(
    (each) => each.framework === framework && (port === undefined || each.name !== LEAST),
  )
  const jobs = all.map(({ name }): FrameworkJob => ({ framework, name, port }))
  const samples = await withChildren('http/framework-main.js', jobs, async (running) => {
    await inRounds(running, 2, (child) => middlewareTurn(child, 2 * turnMs))
    return inRounds(running, rounds, (child) => middlewareTurn(child, turnMs))
  })
  const [bare = [], ...others] = samples.map(({ us = [] }) => us)
  const rows = all.slice(1).map(({ name, kind }, i) => ({
    subject: name,
    kind,
    // Of the same round, in which the machine is equally fast.
    samples: { us: (others[i] ?? []).map((us, round) => us - (bare[round] as number)) },
  }))
  const base = all.find(({ kind }) => kind === 'peer')?.name as string
  const where = port === undefined ? 'in memory' : 'on Redis'
  const metrics = [{ id: 'us', title: 'CPU, us', digits: 2, base }]
  return { id: `${framework} ${where}`, title: `${framework}, ${where}`, metrics, rows }
}
