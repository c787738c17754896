// Redis is well, but single calls do not get there, or their replies do not come back.
import { failedCallsBesidePeers } from '../bounds.js'
import { cut, type Fleet, type Process, passed, reconnect } from '../fleet.js'
import type { Story } from './story.js'

/** Redis counts by then what was admitted for calls that failed alone. */
const COUNTED_MS = 1_500

/** One algorithm after the other, or so many would fail at once that the breaker opened. */
async function ofEach(fleet: Fleet, tell: (algorithm: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < fleet.algorithms.length; i += 1) await tell(i)
}

/** Each of the processes loses its connection, takes this much locally, and has a new one. */
async function blip(
  fleet: Fleet,
  processes: readonly Process[],
  algorithm: number,
  key: string,
  cost: number,
): Promise<void> {
  await cut(processes)
  for (const process of processes) await fleet.take(process, algorithm, key, cost)
  await reconnect(processes)
}

const besidePeers: Story = {
  number: '30',
  fault: 'a blip of each connection but one, with a request in each, while one process goes on',
  must: 'count what was admitted in the blip, once',
  pass: 'passed <= L + what was admitted in the blips',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const some = processes.slice(0, -1)
    const last = processes.at(-1) as Process
    const cost = Math.floor((limit - processes.length) / processes.length)
    await ofEach(fleet, async (algorithm) => {
      for (const process of processes) await fleet.take(process, algorithm, 'key')
      await blip(fleet, some, algorithm, 'key', cost)
      await fleet.takeAll(last, algorithm, 'key')
    })
    await fleet.askFor(COUNTED_MS, ['key'])
    return passed('passed', fleet, 'key', failedCallsBesidePeers(limit, some.length * cost))
  },
}

export const failedCalls: readonly Story[] = [besidePeers]
