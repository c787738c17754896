// The test's side: several child processes that hammer one key together.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Job, Report } from './hammer.js'

export interface Crowd {
  /** Makes all processes do the job at once, and adds their reports up. */
  hammer(job: Job): Promise<Report>
  /** As `hammer`, one process after another. */
  inTurn(job: Job): Promise<Report>
  stop(): Promise<void>
}

/** Starts a process for each skew: how far ahead of the true time the clock of its host is. */
export async function startCrowd(skewsMs: readonly number[]): Promise<Crowd> {
  const members = skewsMs.map(startMember)
  await Promise.all(
    members.map(({ child, ended }) => Promise.race([once(child, 'message'), ended])),
  )
  return {
    async hammer(job) {
      const reports = await Promise.all(members.map((member) => reportOf(member, job)))
      return reports.reduce(sum)
    },
    async inTurn(job) {
      const reports: Report[] = []
      for (const member of members) reports.push(await reportOf(member, job))
      return reports.reduce(sum)
    },
    async stop() {
      for (const { child } of members) child.kill()
      await Promise.allSettled(members.map(({ ended }) => ended))
    },
  }
}

interface Member {
  readonly child: ChildProcess
  /** Rejects when the process ends, which it does only on request. */
  readonly ended: Promise<never>
}

function startMember(skewMs: number): Member {
  const script = fileURLToPath(new URL('start.mjs', import.meta.url))
  const child = fork(script, { env: { ...process.env, WEIR_SKEW_MS: String(skewMs) } })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a child process ended with ${code}`)
  })
  ended.catch(() => {})
  return { child, ended }
}

async function reportOf({ child, ended }: Member, job: Job): Promise<Report> {
  const reported = once(child, 'message')
  child.send(job)
  const [report] = await Promise.race([reported, ended])
  return report as Report
}

function sum(one: Report, other: Report): Report {
  return {
    granted: one.granted + other.granted,
    denied: one.denied + other.denied,
    errors: [...one.errors, ...other.errors],
    firstUs: Math.min(one.firstUs, other.firstUs),
    fullUs: Math.max(one.fullUs, other.fullUs),
    lastGrantUs: Math.max(one.lastGrantUs, other.lastGrantUs),
    lastDenialUs: Math.max(one.lastDenialUs, other.lastDenialUs),
  }
}
