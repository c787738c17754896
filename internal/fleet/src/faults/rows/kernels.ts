// In addition to the matrix: each algorithm through exhaustion, the end of Redis, the switch to
// local decisions, and the return of an empty Redis.
import { everyAlgorithm } from '../algorithms.js'
import { type Check, countAtLeast, countAtMost, named } from '../checks.js'
import type { PolicySettings } from '../client/protocol.js'
import { admissions } from '../figures.js'
import { LIMIT, load, type Run, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const WINDOW_S = 60

/**
 * Requests between the loss of a key and the first answer that shows it, on a slow machine.
 */
const UNNOTICED = 10

/**
 * The limit is used up within a second, and the window lasts longer than the run, so more
 * admissions are wrong, except for what flows back into a bucket. The windows of a counter begin on
 * the minute: if one begins within the run, what was used in the one before fades.
 */
const policies = everyAlgorithm('minute', LIMIT, `${WINDOW_S}s`)
const EXACT = ['fixedWindow', 'slidingWindow', 'slidingLog']

export const kernels: Row = {
  number: 'each algorithm',
  fault: 'exhaust, kill, switch, back empty',
  must: 'give no new budget',
  async run(stage, length) {
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
      const { make } = policies[i] as PolicySettings
      const refill = EXACT.includes(make) ? 0 : LIMIT / WINDOW_S
      return named(make, total({ ...run, samples }, refill))
    })
    return [...checks, ...sane(run)]
  },
}

/** @param refill units that come back in a second */
function total({ samples }: Run, refill: number): Check[] {
  const times = admissions(samples)
  const at = samples.map((sample) => sample.at)
  const seconds = (Math.max(...at) - Math.min(...at)) / 1_000
  return [
    countAtMost('admitted', times.length, LIMIT + Math.ceil(refill * seconds) + UNNOTICED),
    countAtLeast('in use', times.length, LIMIT - 5),
  ]
}
