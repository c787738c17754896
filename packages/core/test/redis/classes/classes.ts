// The child process: sends requests of classes, all at one instant, and reports what passed.

import type { Redis } from 'ioredis'
import { RateLimiter } from '../../../src/limiter/limiter.js'
import { unitFactories } from '../../unit-factories.js'
import { patientOptions, patientStore } from '../patient.js'

export const LIMIT = 100
export const RESERVE = { normal: 0.2, batch: 0.5 } as const
export const WINDOW_MS = 10_000

export type PriorityClass = 'critical' | 'normal' | 'batch'

export interface ClassJob {
  readonly port: number
  readonly policy: string
  readonly leases: boolean
  readonly nowUs: number
  /** The class of each request, in order. */
  readonly classes: readonly PriorityClass[]
}

export interface ClassReport {
  /** How many requests of each class passed. */
  readonly passed: Readonly<Record<PriorityClass, number>>
  /** Denials of a class that had units left. */
  readonly wrong: number
  readonly errors: readonly string[]
}

const IN_FLIGHT = 16

export function serve(Client: new (port: number, options: typeof patientOptions) => Redis): void {
  let client: Redis | undefined
  let nowUs = 0
  const limiters = new Map<string, RateLimiter>()

  /** With everything by which a store may answer itself. */
  function limiterOf(connected: Redis, { policy, leases: hasLeases }: ClassJob): RateLimiter {
    const leases = hasLeases ? { units: 50, holdMs: 1_000 } : undefined
    const clock = { nowUs: () => nowUs }
    const prefix = `classes-${hasLeases}`
    const store = patientStore(connected, { prefix, clock, denyCache: true, leases })
    const of = unitFactories[policy]?.of as (typeof unitFactories)[string]['of']
    return new RateLimiter({
      name: policy,
      store,
      policy: of(LIMIT, WINDOW_MS),
      reserve: RESERVE,
      shared: true,
    })
  }

  process.on('message', async (job: ClassJob) => {
    if (client === undefined) {
      client = new Client(job.port, patientOptions)
      client.on('error', () => {})
      await new Promise((resolve) => client?.once('ready', resolve))
    }
    nowUs = job.nowUs
    const name = `${job.policy} ${job.leases}`
    const limiter = limiters.get(name) ?? limiterOf(client, job)
    limiters.set(name, limiter)
    process.send?.(await ask(limiter, job.classes))
  })
  process.send?.('ready')
}

async function ask(limiter: RateLimiter, classes: readonly PriorityClass[]): Promise<ClassReport> {
  const passed = { critical: 0, normal: 0, batch: 0 }
  const errors: string[] = []
  let wrong = 0
  let next = 0
  async function one(): Promise<void> {
    while (next < classes.length) {
      const priority = classes[next] as PriorityClass
      next += 1
      try {
        const { allowed, remaining } = await limiter.consume('k', { priority })
        if (allowed) passed[priority] += 1
        else if (remaining > 0) wrong += 1
      } catch (error) {
        errors.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
  return { passed, wrong, errors }
}
