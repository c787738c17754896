// An outage ends for one process after another: Redis must not grant again what the processes that
// are still away spend of their local quotas, nor what it has lost meanwhile.
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { staleView, wholeOutage } from '../../promises/bounds.js'
import { bringBack, cut, type Fleet, passed } from '../fleet.js'
import type { Story } from './story.js'

/** A process that is back keeps to its local quota for 5 s. */
const HELD_MS = 5_000

/** Requested before the outage, and only during it. */
const SEEN = 'seen before'
const NEW = 'new'

async function untilAllAreBack(fleet: Fleet): Promise<void> {
  await fleet.askFor(HELD_MS + 1_000, [SEEN])
  await fleet.exhaust(fleet.processes, SEEN)
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
    await untilAllAreBack(fleet)
    const takenSince = others.map(({ rank }) => others.length - 1 - rank + UNSEEN)
    return passed('passed', fleet, SEEN, staleView(wholeOutage(limit, 0), [...takenSince, 0]))
  },
}

const backOlder: Story = {
  number: '42',
  fault: 'kill -9, back with a snapshot in which a fifth is used of a key that is used up',
  must: 'restore what was seen since the snapshot',
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
    await untilAllAreBack(fleet)
    return passed('passed', fleet, SEEN, wholeOutage(limit, 0))
  },
}

export const returns: readonly Story[] = [backEmptyOneByOne, backOlder]
