// The load on Redis when it comes back, and what it must count.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Check, countAtMost, msAtLeast } from '../checks.js'
import { now } from '../client/time.js'
import { admissions, spread } from '../figures.js'
import { killed, LIMIT, load, type Run, runOf, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { isAsUsual, over, sane, slowest } from '../verdicts.js'

const LONG_LIMIT = 100_000
const HANG_MS = 3_000
/**
 * Requests until the deadline, and four more failures, at the rate of the load; twice that on a
 * busy machine.
 */
const MOST_SENT = 50

export const ghosts: Row = {
  number: '20',
  notWithLeases:
    'no unit may be counted and not spent, and what was asked for ahead in a call that came too late is',
  fault: 'ghosts: decisions sent into a 3 s hang run afterwards',
  must: 'bounded',
  async run(stage, length) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const options = { name: 'long', limit: LONG_LIMIT, window: '60s' }
    const client = await stage.client(load(wire.port, { policy: { make: 'fixedWindow', options } }))
    await sleep(length.warmUpMs)
    const from = now()
    server.kill('SIGSTOP')
    await sleep(HANG_MS)
    server.kill('SIGCONT')
    const to = now()
    await sleep(length.afterMs)
    const before = now()
    const [remaining = 0] = await client.peek()
    const report = await client.stop()
    const run = runOf([report], { from, to }, before, wire)
    return [...countedTwice(run, before, LONG_LIMIT - remaining, MOST_SENT), ...sane(run)]
  },
}

/**
 * How much Redis counts beyond what was admitted, or less. Requests in flight at the peek may be
 * counted or not.
 */
function countedTwice(
  { reports, samples, fault }: Run,
  peekedAt: number,
  counted: number,
  mostSent: number,
): Check[] {
  const openedAt = reports[0]?.transitions.find(
    ({ at, state }) => at >= fault.from && state === 'open',
  )?.at
  // Redis stops a little before it is known that its signal was sent.
  const sent = samples.filter(({ at, degraded }) => {
    return degraded && at > fault.from - 20 && at <= (openedAt ?? fault.to)
  })
  const times = admissions(samples)
  const surely = times.filter((time) => time < peekedAt - 50).length
  const perhaps = times.filter((time) => time < peekedAt + 50).length
  return [
    countAtMost('sent before the opening', sent.length, mostSent),
    countAtMost('counted but not admitted', Math.max(0, counted - perhaps), sent.length),
    countAtMost('admitted but not counted', Math.max(0, surely - counted), sent.length),
  ]
}

const ADAPTERS = 50

export const stampede: Row = {
  number: '24',
  fault: `recovery of ${ADAPTERS} instances`,
  must: 'no stampede',
  alone: true,
  async run(stage, length) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const fault = killed(stage, server, wire)
    const store = { instances: ADAPTERS }
    const job = load(wire.port, { stores: ADAPTERS, ratePerSecond: 10 * ADAPTERS, store })
    // While a node is half-open, for 5 s, the local quota is a ceiling.
    const longer = { ...length, afterMs: length.afterMs + 5_000 }
    const run = await underFault(stage, longer, [job], fault, wire)
    const after = run.calls.filter(({ at }) => at >= run.fault.to)
    const reconciliations = firsts(after.filter(({ mode }) => mode !== 'consume'))
    return [
      msAtLeast('first calls spread over', spread(firsts(after)), 500),
      ...(reconciliations.length > 1
        ? [msAtLeast('probes and reconciliations', spread(reconciliations), 500)]
        : []),
      countAtMost('instances not back', ADAPTERS - storesBack(run), 0),
      slowest(run, 150),
      over(run, 2 * LIMIT),
      ...sane(run),
    ]
  },
}

/** The time of the first call of each connection. */
function firsts(calls: Run['calls']): number[] {
  const first = new Map<number, number>()
  for (const { connection, at } of calls) if (!first.has(connection)) first.set(connection, at)
  return [...first.values()]
}

/** How many of the last requests, one for each instance, Redis decided. */
function storesBack({ samples }: Run): number {
  return [...samples]
    .sort((a, b) => a.at - b.at)
    .slice(-ADAPTERS)
    .filter(isAsUsual).length
}
