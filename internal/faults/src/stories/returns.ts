// An outage ends for one process after another: Redis must not grant again what the processes that
// are still away spend of their local quotas.
import { localQuotas, returnOfProcesses, staleView, wholeOutage } from '@weir/fleet/bounds'
import type { Check } from '../checks.js'
import { bringBack, cut, type Fleet, type Process, passed } from '../fleet.js'
import type { Story } from './story.js'

/** A process that is back keeps to its local quota for 5 s. */
const HELD_MS = 5_000

/** Requested before the outage, and only during it. */
const SEEN = 'seen before'
const NEW = 'new'

/** All processes know each other and the key; then each decides alone. */
async function intoOutage(fleet: Fleet, begin: () => Promise<void>): Promise<void> {
  const { processes } = fleet
  for (let round = 0; round < 2; round += 1) await fleet.ask(processes, SEEN)
  await begin()
  for (const key of [SEEN, NEW]) await fleet.ask(processes, key)
}

async function untilAllAreBack(fleet: Fleet): Promise<void> {
  await fleet.askFor(HELD_MS + 1_000, [SEEN, NEW])
  for (const key of [SEEN, NEW]) await fleet.exhaust(fleet.processes, key)
}

/** Nothing is in flight when Redis goes; the last round was sent one request after another. */
function withinBounds(fleet: Fleet): Check[] {
  const { limit, processes } = fleet
  const takenSince = processes.map(({ rank }) => processes.length - 1 - rank)
  return [
    ...passed('key seen before', fleet, SEEN, staleView(wholeOutage(limit, 0), takenSince)),
    ...passed('new key', fleet, NEW, wholeOutage(limit, 0)),
  ]
}

const oneByOne: Story = {
  number: '26',
  fault: 'all processes are cut off, and come back one after the other',
  must: 'be bounded by the local quota until all are back',
  pass: 'passed <= L, + what others took since a process last saw the key',
  async tell({ fleet }) {
    const { processes } = fleet
    const [first, ...others] = processes as [Process, ...Process[]]
    await intoOutage(fleet, () => cut(processes))
    await bringBack([first])
    for (const some of [[first], others]) {
      for (const key of [SEEN, NEW]) await fleet.exhaust(some, key)
    }
    await bringBack(others)
    await untilAllAreBack(fleet)
    return withinBounds(fleet)
  },
}

const backEmpty: Story = {
  number: '27',
  fault: 'kill -9, back empty, and all processes ask',
  must: 'be bounded by the local quota until all are back, and restore what was seen',
  pass: oneByOne.pass,
  async tell({ stage, server, fleet }) {
    await intoOutage(fleet, async () => server.kill())
    await stage.redis({ port: server.port })
    await untilAllAreBack(fleet)
    return withinBounds(fleet)
  },
}

/** A quota of 0 is no ceiling for the process that is back. */
const quotaOfNone: Story = {
  number: '28',
  fault: 'the limit is 5, and of 10 processes that are cut off one without a quota is back first',
  must: 'not refuse everything',
  pass: 'passed <= L + local quotas of those still away',
  limit: () => 5,
  sizes: [10],
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const last = processes.slice(-1)
    const others = processes.slice(0, -1)
    await cut(processes)
    await fleet.ask(processes, 'other')
    await bringBack(last)
    for (const some of [last, others]) await fleet.exhaust(some, NEW)
    await bringBack(others)
    await fleet.exhaust(processes, NEW)
    const quotas = localQuotas(limit, processes.length).slice(0, -1)
    return passed('new key', fleet, NEW, returnOfProcesses(limit, quotas))
  },
}

export const returns: readonly Story[] = [oneByOne, backEmpty, quotaOfNone]
