import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { HoldJob, SpendJob, StreamsJob } from './holder.js'

/** Starts a child process, which ends with the test. */
export async function startHolder(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('start.mjs', import.meta.url))
  const child = fork(script)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

/** Has a child do a job, and returns its report. */
export async function reportOf<Report>(
  child: ChildProcess,
  job: HoldJob | StreamsJob | SpendJob,
): Promise<Report> {
  const reported = once(child, 'message')
  child.send(job)
  return (await reported)[0] as Report
}
