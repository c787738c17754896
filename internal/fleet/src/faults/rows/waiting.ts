// Waiting and settling under the faults of other rows: the same servers and faults, with clients
// that wait for a turn or settle what they consumed.
import { type Check, countAtMost } from '../checks.js'
import type { Job, Sample } from '../client/protocol.js'
import { admissions, mostInAnyWindow } from '../figures.js'
import { LIMIT, ofKey, POLICY, RATE, runOf, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import { sane, slowest } from '../verdicts.js'

/** A way of using a limiter, and what must hold whatever the fault. */
interface Use {
  readonly name: 'waiting' | 'settling'
  readonly must: string
  does(job: Job): Partial<Job>
  readonly slowestMs: number
  /** When a request was admitted, and how many may be admitted in any window, for one key. */
  admittedAt(sample: Sample): number
  most(ratePerSecond: number): number
}

/** How long clients wait for a turn, and when they settle. */
const TIMEOUT_MS = 500
const SETTLED_MS = 500

/** A quarter of the requests passes. */
function line(ratePerSecond: number) {
  return { capacity: 10, leak: Math.floor(ratePerSecond / 4), every: '1s', maxWait: '1s' }
}

function ratePerKey({ ratePerSecond, keys }: Job): number {
  return ratePerSecond / keys.length
}

/**
 * Waits end in time: by their timeout, and a deadline of the call. Requests that had a turn in
 * Redis pass in addition to those that wait locally.
 */
const waiting: Use = {
  name: 'waiting',
  must: 'wait on, in time',
  does: (job) => ({
    does: 'wait',
    policy: { make: 'leakyBucket', options: { name: 'line', ...line(ratePerKey(job)) } },
  }),
  slowestMs: TIMEOUT_MS + 150,
  admittedAt: ({ at, ms }) => at + ms,
  most(ratePerSecond) {
    const { capacity, leak } = line(ratePerSecond)
    return 2 * (capacity + (leak * WINDOW_MS) / 1_000) + (leak * TIMEOUT_MS) / 1_000
  },
}

/** Settlements end in time; what requests in flight use beyond their estimates adds to the
 *  limit. */
const settling: Use = {
  name: 'settling',
  must: 'settle, or let the estimate stand',
  does: () => ({ does: 'settle', policy: POLICY }),
  slowestMs: SETTLED_MS + 300,
  admittedAt: ({ at }) => at,
  most: (ratePerSecond) => 2 * LIMIT + (ratePerSecond * SETTLED_MS) / 1_000,
}

function under(row: Row, use: Use): Row {
  const { number, variant, fault, alone, fullOnly, notWith } = row
  return {
    number,
    variant: variant === undefined ? use.name : `${variant} ${use.name}`,
    fault,
    must: use.must,
    ...(alone && { alone }),
    ...(notWith && { notWith }),
    ...((fullOnly || !IN_SHORT.includes(number)) && { fullOnly: true }),
    async run(stage, length) {
      let ratePerSecond = RATE
      stage.instead(({ ratePerSecond: most, ...others }) => {
        const job = { ...others, ratePerSecond: Math.min(most, RATE) }
        ratePerSecond = ratePerKey(job)
        return { ...job, ...use.does(job) }
      })
      // The row's claims about its own clients do not hold for these.
      await row.run(stage, length)
      const run = runOf(stage.reports, { from: 0, to: 0 }, 0)
      const keys = new Set(run.samples.map(({ key }) => key))
      const admitted = [...keys].map((own) => {
        const passed = ofKey(run, own).samples.map((sample) => ({
          ...sample,
          at: use.admittedAt(sample),
        }))
        return mostInAnyWindow(admissions(passed), WINDOW_MS)
      })
      const checks: Check[] = [
        slowest(run, use.slowestMs),
        countAtMost('over', Math.max(...admitted), use.most(ratePerSecond)),
      ]
      return [...checks, ...sane(run)]
    },
  }
}

/** Faults of servers, connections, scripts, keys and topology; not crowds, floods and shutdowns. */
const FAULTS = '2 3 4 5 5b 6 8 9 10 11 13 14 15 16 21 22'.split(' ')
/** The fault for which CI also judges waiting and settling: a hang, in which both must end. */
const IN_SHORT = ['3']

/** For each of these faults, a row with waiting and one with settling. */
export function waitingAndSettling(rows: readonly Row[]): readonly Row[] {
  const chosen = rows.filter(
    ({ number, variant }) => FAULTS.includes(number) && variant !== 'plain client',
  )
  return chosen.flatMap((row) => [under(row, waiting), under(row, settling)])
}
