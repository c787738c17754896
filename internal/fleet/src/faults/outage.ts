// The course of most rows: load, a fault for a while, recovery; and what its log shows.
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@weir/testkit'
import type { Job, PolicySettings, Sample } from './client/protocol.js'
import { now } from './client/time.js'
import type { Report } from './process.js'
import type { ScriptCall, Stage, Wire } from './stage.js'

export const LIMIT = 100
export const WINDOW_MS = 2_000
export const RATE = 200
export const KEY = 'alice'

/** The policy of the section "load": about half of the requests pass. */
export const POLICY: PolicySettings = {
  make: 'fixedWindow',
  options: { name: 'load', limit: LIMIT, window: WINDOW_MS },
}

export function load(port: number, changes: Partial<Job> = {}): Job {
  return {
    to: { port },
    client: 'recommended',
    policy: POLICY,
    keys: [KEY],
    ratePerSecond: RATE,
    ...changes,
  }
}

/** The lengths of the parts of a run. */
export interface Length {
  readonly name: 'full' | 'short'
  readonly warmUpMs: number
  readonly faultMs: number
  readonly afterMs: number
}

export const FULL: Length = { name: 'full', warmUpMs: 2_000, faultMs: 6_000, afterMs: 4_000 }
export const SHORT: Length = { name: 'short', warmUpMs: 1_000, faultMs: 2_500, afterMs: 3_000 }

export interface Fault {
  begin(): void | Promise<void>
  end(): void | Promise<void>
}

export const NO_FAULT: Fault = { begin() {}, end() {} }

/** What clients reported from the start of their load to the end. */
export interface Run {
  readonly reports: readonly Report[]
  readonly samples: readonly Sample[]
  readonly fault: { readonly from: number; readonly to: number }
  readonly calls: readonly ScriptCall[]
  readonly end: number
}

export async function underFault(
  stage: Stage,
  length: Length,
  jobs: readonly Job[],
  fault: Fault,
  wire?: Wire,
): Promise<Run> {
  const clients = await Promise.all(jobs.map((job) => stage.client(job)))
  await sleep(length.warmUpMs)
  const from = now()
  await fault.begin()
  await sleep(length.faultMs)
  await fault.end()
  const to = now()
  await sleep(length.afterMs)
  const end = now()
  const reports = await Promise.all(clients.map((client) => client.stop()))
  return runOf(reports, { from, to }, end, wire)
}

export function runOf(
  reports: readonly Report[],
  fault: Run['fault'],
  end: number,
  wire?: Wire,
): Run {
  return {
    reports,
    samples: reports.flatMap(({ samples }) => samples),
    fault,
    calls: wire?.calls ?? [],
    end,
  }
}

/** Redis is killed, and comes back empty. */
export function killed(stage: Stage, server: RedisServer, wire: Wire): Fault {
  return {
    async begin() {
      server.kill()
      await wire.set('refuse')
    },
    async end() {
      await stage.redis({ port: server.port })
      await wire.set('pass')
    },
  }
}

/** What concerns a key. */
export function ofKey(run: Run, key: string): Run {
  return { ...run, samples: run.samples.filter((sample) => sample.key === key) }
}

/** A fault that strikes repeatedly. */
export function repeated(everyMs: number, strike: () => Promise<unknown>): Fault {
  let going = false
  let done: Promise<void> = Promise.resolve()
  const strikes = async (): Promise<void> => {
    while (going) {
      await strike()
      await sleep(everyMs)
    }
  }
  return {
    begin() {
      going = true
      done = strikes()
    },
    async end() {
      going = false
      await done
    },
  }
}
