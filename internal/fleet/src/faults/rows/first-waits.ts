// Processes that start together, and whose first calls wait for a turn before Redis is heard.
import { setTimeout as sleep } from 'node:timers/promises'
import { countAtLeast, routine } from '../checks.js'
import { now } from '../client/time.js'
import { admissions } from '../figures.js'
import { load, runOf, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import { degradedAtMost, over, sane } from '../verdicts.js'

const PROCESSES = 3
const PER_SECOND = 10
const MOST = (PER_SECOND * WINDOW_MS) / 1_000 + 1
const DEADLINE_MS = 200
/** Longer than a deadline, and less than the second for which first calls wait. */
const LATE_MS = 400

const JOB = {
  does: 'queue',
  awaitReady: false,
  ratePerSecond: 50,
  store: { deadlineMs: DEADLINE_MS },
  policy: {
    make: 'leakyBucket',
    options: { name: 'line', capacity: 1, leak: PER_SECOND, every: '1s', maxWait: '300ms' },
  },
} as const

export const firstWaits: Row = {
  number: '44',
  fault: `${PROCESSES} processes start, and wait for turns of a bucket; Redis is heard ${LATE_MS} ms later`,
  must: 'give no turn before that',
  async run(stage, length) {
    const server = await stage.redis()
    const starting = Array.from({ length: PROCESSES }, async () => {
      const wire = await stage.proxy(server.port)
      await wire.set('blackhole')
      const client = await stage.client(load(wire.port, JOB))
      await sleep(LATE_MS)
      await wire.set('pass')
      return client
    })
    const clients = await Promise.all(starting)
    await sleep(length.faultMs)
    const reports = await Promise.all(clients.map((client) => client.stop()))
    const run = runOf(reports, { from: 0, to: 0 }, now())
    return [
      over(run, MOST),
      degradedAtMost(run, 0),
      routine(countAtLeast('in use', admissions(run.samples).length, MOST)),
      ...sane(run),
    ]
  },
}
