// The child process: hammers one key over many connections, and reports what was granted.

import type { Redis } from 'ioredis'
import { processTime } from '../../../src/base/time.js'
import { RateLimiter } from '../../../src/limiter/limiter.js'
import type { Store, StoreResult } from '../../../src/store.js'
import { patientOptions, stillStore } from '../patient.js'
import { LIMIT, type SubjectName, subjects } from './subjects.js'

export interface Job {
  readonly port: number
  readonly subject: SubjectName
  /** A part of every key, so that each job has a separate key. */
  readonly prefix: string
  readonly connections: number
  /** Requests in flight on each connection at a time. */
  readonly inFlight: number
  /** Requests on each connection. */
  readonly requests: number
  /** The time of decisions: the server's, this host's, or one and the same instant. */
  readonly clock: 'server' | 'host' | number
}

export interface Report {
  granted: number
  denied: number
  readonly errors: string[]
  /** In us of the deciding clock. */
  firstUs: number
  /** The last time that a bucket was full before a request. */
  fullUs: number
  lastGrantUs: number
  lastDenialUs: number
}

const clients: Redis[] = []

/** Takes jobs from the parent process, one after another. */
export function serve(Client: new (port: number, options: typeof patientOptions) => Redis): void {
  process.on('message', async (job: Job) => {
    const more = Array.from({ length: Math.max(0, job.connections - clients.length) }, async () => {
      const client = new Client(job.port, patientOptions)
      clients.push(client)
      await new Promise((resolve) => client.once('ready', resolve))
    })
    await Promise.all(more)
    process.send?.(await hammer(job))
  })
  process.send?.('ready')
}

async function hammer({
  subject,
  prefix,
  connections,
  inFlight,
  requests,
  clock,
}: Job): Promise<Report> {
  const report: Report = {
    granted: 0,
    denied: 0,
    errors: [],
    firstUs: Infinity,
    fullUs: 0,
    lastGrantUs: 0,
    lastDenialUs: 0,
  }
  const runs = clients.slice(0, connections).map((client) => {
    const store = watched(stillStore(client, { prefix, ...clockOption(clock) }), report)
    const policy = subjects[subject]
    const limiter = new RateLimiter({ name: 'hammer', store, policy, shared: true })
    let left = requests
    const run = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        await limiter.consume('key').catch((error: Error) => report.errors.push(error.message))
      }
    }
    return Promise.all(Array.from({ length: inFlight }, run))
  })
  await Promise.all(runs)
  return report
}

function clockOption(clock: Job['clock']): object {
  if (clock === 'server') return {}
  return { clock: clock === 'host' ? processTime : { nowUs: () => clock } }
}

/** The store, with a record of its answers. */
function watched(store: Store, report: Report): Store {
  const note = (answer: StoreResult): StoreResult => {
    const { granted, nowUs, policies } = answer
    const allowed = granted > 0
    report.firstUs = Math.min(report.firstUs, nowUs)
    if (allowed && policies[0]?.remaining === LIMIT - 1)
      report.fullUs = Math.max(report.fullUs, nowUs)
    if (allowed) report.granted += 1
    else report.denied += 1
    if (allowed) report.lastGrantUs = Math.max(report.lastGrantUs, nowUs)
    else report.lastDenialUs = Math.max(report.lastDenialUs, nowUs)
    return answer
  }
  return { ...store, decide: async (group) => note(await store.decide(group)) }
}
