// Beyond the matrix: each algorithm through exhaustion, the death of Redis, the switch, and its
// empty return.
import { type Check, countAtLeast, countAtMost, named } from '../checks.js'
import { admissions } from '../figures.js'
import { LIMIT, load, type Run, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const WINDOW_S = 60
const window = `${WINDOW_S}s`
const name = 'minute'

/**
 * What is asked between the loss of a key and the first answer that shows it, if the machine
 * dawdles.
 */
const UNNOTICED = 10

/**
 * The limit is used up within a second, and the window outlasts the run: whatever more is admitted
 * is too much.
 */
const windows = ['fixedWindow', 'slidingWindow', 'slidingLog'].map((make) => ({
  make,
  options: { name, limit: LIMIT, window },
  /** Units that come back in a second. */
  refill: 0,
}))

/**
 * Its windows lie on the minute: if one begins within the run, what was used in the one before
 * fades.
 */
const counter = {
  make: 'slidingCounter',
  options: { name, limit: LIMIT, window },
  refill: LIMIT / WINDOW_S,
}

const buckets = [
  { make: 'tokenBucket', options: { name, capacity: LIMIT, refill: LIMIT, every: window } },
  { make: 'leakyBucket', options: { name, capacity: LIMIT, leak: LIMIT, every: window } },
  { make: 'gcra', options: { name, limit: LIMIT, period: window, burst: LIMIT } },
].map((policy) => ({ ...policy, refill: LIMIT / WINDOW_S }))

export const kernels: Row = {
  number: 'each algorithm',
  fault: 'exhaust, kill, switch, back empty',
  must: 'give no new budget',
  pass: `admitted <= L in the window, + refill for a bucket or a counter, + ${UNNOTICED} before the loss is seen`,
  async run(stage, length) {
    const policies = [...windows, counter, ...buckets]
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const jobs = policies.map(({ make, options }, i) =>
      load(wire.port, { keys: [`user-${i}`], policy: { make, options }, ratePerSecond: 150 }),
    )
    const fault = {
      async begin(): Promise<void> {
        server.kill()
        await wire.set('refuse')
      },
      async end(): Promise<void> {
        await stage.redis({ port: server.port })
        await wire.set('pass')
      },
    }
    const run = await underFault(stage, length, jobs, fault, wire)
    const checks = run.reports.flatMap(({ samples }, i) => {
      const { make, refill } = policies[i] as (typeof policies)[number]
      return named(make, [...total({ ...run, samples }, refill)])
    })
    return [...checks, ...sane(run)]
  },
}

function total({ samples }: Run, refill: number): Check[] {
  const times = admissions(samples)
  const at = samples.map((sample) => sample.at)
  const seconds = (Math.max(...at) - Math.min(...at)) / 1_000
  return [
    countAtMost('admitted', times.length, LIMIT + Math.ceil(refill * seconds) + UNNOTICED),
    countAtLeast('in use', times.length, LIMIT - 5),
  ]
}
