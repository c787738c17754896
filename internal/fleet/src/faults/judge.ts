// Runs a row and judges it. A row fails only if the machine let the processes run: when they had to
// wait, answers are late, and decisions are made without Redis by design.
import { busyBy } from '@weir/testkit'
import type { Check } from './checks.js'
import type { Job } from './client/protocol.js'
import { now } from './client/time.js'
import { starvation } from './figures.js'
import type { Length } from './outage.js'
import type { Row } from './row.js'
import { Stage } from './stage.js'

export interface Verdict {
  readonly row: Row
  readonly state: 'passed' | 'failed' | 'not judged'
  readonly checks: readonly Check[]
  /** What the reader should know about how the row was judged. */
  readonly note?: string
  readonly seconds: number
}

interface Attempt {
  readonly checks: readonly Check[]
  readonly starved: string | undefined
}

export async function judge(
  row: Row,
  length: Length,
  changes: Partial<Job> = {},
): Promise<Verdict> {
  const begun = now()
  const verdict = (state: Verdict['state'], { checks }: Attempt, note?: string): Verdict => {
    const base = { row, state, checks, seconds: (now() - begun) / 1_000 }
    return note === undefined ? base : { ...base, note }
  }
  const first = await attempt(row, length, changes)
  if (passed(first)) return verdict('passed', first)
  if (first.starved === undefined) return verdict('failed', first)
  const second = await attempt(row, length, changes)
  const again = `second run: in the first one ${first.starved}`
  if (passed(second)) return verdict('passed', second, again)
  if (second.starved === undefined) return verdict('failed', second, again)
  return verdict('not judged', second, `not judged: twice, ${second.starved}`)
}

/** Judges a row again that a busy machine left unjudged. The verdict mentions both attempts. */
export async function judgeAgain(
  { row, note }: Verdict,
  length: Length,
  changes: Partial<Job> = {},
): Promise<Verdict> {
  const verdict = await judge(row, length, changes)
  const notes = [`judged again, alone, for ${note}`, verdict.note]
  return { ...verdict, note: notes.filter((each) => each !== undefined).join('; then ') }
}

async function attempt(row: Row, length: Length, changes: Partial<Job>): Promise<Attempt> {
  const stage = new Stage(changes)
  let checks: readonly Check[]
  try {
    checks = await row.run(stage, length)
  } catch (error) {
    const value = error instanceof Error ? (error.stack ?? error.message) : String(error)
    checks = [{ what: 'the run itself', value, bound: 'no error', ok: false }]
  } finally {
    await stage.end()
  }
  const elsewhere = stage.reports.flatMap(({ stalls }) => stalls)
  const starved = [...stage.stalls, ...elsewhere].map(starvation)
  const busy = busyBy(starved, now() - stage.begun)
  return { checks, starved: busy && `the machine kept a process waiting ${busy}` }
}

function passed({ checks }: Attempt): boolean {
  return checks.every(({ ok }) => ok)
}
