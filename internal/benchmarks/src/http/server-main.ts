// A process with a server under load. For each message, it reports its CPU time.

import type { Framework, Limit, Listening, ServerJob, Usage } from './job.js'

type Start = (limit: Limit) => Promise<number>

/** Loads only the framework that the process uses. */
const LOAD: Readonly<Record<Framework, () => Promise<Start>>> = {
  Koa: async () => (await import('./koa.js')).startKoa,
  'Nest on Fastify': async () => (await import('./nest.js')).startNest,
  Express: async () => (await import('./express.js')).startExpress,
}

const { framework, ...job } = JSON.parse(process.argv[2] as string) as ServerJob
const start = await LOAD[framework]()
const windowMs = 3_600_000
const told: Listening = {
  port: await start({ ...job, limit: 1_000_000, windowMs, name: 'wide' }),
  strictPort: await start({ ...job, limit: 10, windowMs, name: 'strict' }),
}
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system, userUs: user } satisfies Usage)
})
process.on('disconnect', () => process.exit(0))
process.send?.(told)
