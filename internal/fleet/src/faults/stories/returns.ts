// An outage ends for one process after another: Redis must not grant again what the processes that
// are still away spend of their local quotas, nor what it has lost meanwhile.
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { localQuotas, returnOfProcesses, staleView, wholeOutage } from '../../promises/bounds.js'
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

async function untilAllAreBack(fleet: Fleet, keys: readonly string[] = [SEEN, NEW]): Promise<void> {
  await fleet.askFor(HELD_MS + 1_000, keys)
  for (const key of keys) await fleet.exhaust(fleet.processes, key)
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

/** What has passed is known exactly only if no call fails because the machine is busy. */
const PATIENT = { deadlineMs: 1_000 }
/** The units that only the last process has seen. */
const UNSEEN = 50
const APART_MS = 1_500

/** What the first ones have counted must not be taken for what the last one has seen. */
const backEmptyOneByOne: Story = {
  number: '41',
  fault: `kill -9, back empty; processes return ${APART_MS / 1_000} s after each other, and the last one has seen ${UNSEEN} units that the others have not`,
  must: 'restore what each has seen, and count beside it what each has admitted',
  pass: 'passed <= L + the part of each process in what others took since it last saw the key',
  sizes: [2, 3],
  store: PATIENT,
  async tell({ stage, server, fleet }) {
    const { limit, processes } = fleet
    const others = processes.slice(0, -1)
    const last = processes.slice(-1)
    await fleet.ask(others, SEEN)
    await fleet.ask(last, SEEN, UNSEEN)
    server.kill()
    await fleet.exhaust(others, SEEN)
    await fleet.ask(last, SEEN)
    await cut(processes)
    await stage.redis({ port: server.port })
    for (const process of processes) {
      await bringBack([process])
      await sleep(APART_MS)
    }
    await untilAllAreBack(fleet, [SEEN])
    const takenSince = others.map(({ rank }) => others.length - 1 - rank + UNSEEN)
    return passed('passed', fleet, SEEN, staleView(wholeOutage(limit, 0), [...takenSince, 0]))
  },
}

const backOlder: Story = {
  number: '42',
  fault: 'kill -9, back with a snapshot in which a fifth is used of a key that is used up',
  must: 'restore what was seen since the snapshot',
  pass: 'passed <= L',
  store: PATIENT,
  async tell({ stage, server, fleet }) {
    const { limit, processes } = fleet
    await fleet.ask(processes.slice(0, 1), SEEN, limit / 5)
    await server.command('SAVE')
    const [, from] = (await server.command('CONFIG', 'GET', 'dir')) as readonly string[]
    const folder = await stage.folder()
    await copyFile(join(String(from), 'dump.rdb'), join(folder, 'dump.rdb'))
    await fleet.exhaust(processes, SEEN)
    server.kill()
    // Of a key that is used up, a process remembers the denial and does not ask.
    await fleet.ask(processes, NEW)
    await stage.redis({ port: server.port, args: ['--dir', folder] })
    await untilAllAreBack(fleet, [SEEN])
    return passed('passed', fleet, SEEN, wholeOutage(limit, 0))
  },
}

export const returns: readonly Story[] = [
  oneByOne,
  backEmpty,
  quotaOfNone,
  backEmptyOneByOne,
  backOlder,
]
