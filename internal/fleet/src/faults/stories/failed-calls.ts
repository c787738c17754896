// Redis is well, but single calls do not arrive, or their replies do not come back.
import type { Decision } from '@weir/core'
import { failedCallsBesidePeers, lostReply } from '../../promises/bounds.js'
import { bringBack, cut, type Fleet, type Process, passed, reconnect } from '../fleet.js'
import type { Story } from './story.js'

const BLIPS = 4
/** By then, Redis has counted what was admitted for single failed calls. */
const COUNTED_MS = 1_500

/** One algorithm after another: otherwise enough calls would fail at once to open the breaker. */
async function ofEach(fleet: Fleet, tell: (algorithm: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < fleet.algorithms.length; i += 1) await tell(i)
}

/** Each process loses its connection, takes this much locally, and reconnects. */
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

const alone: Story = {
  number: '29',
  fault: `${BLIPS} blips of one connection, with a request in each`,
  must: 'ask nothing of Redis before that is counted there',
  pass: 'passed <= L',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const [process] = processes as [Process]
    const cost = Math.floor((limit - 1) / processes.length / BLIPS)
    await ofEach(fleet, async (algorithm) => {
      await fleet.take(process, algorithm, 'key')
      for (let i = 0; i < BLIPS; i += 1) await blip(fleet, [process], algorithm, 'key', cost)
      await fleet.takeAll(process, algorithm, 'key')
    })
    await fleet.askFor(COUNTED_MS, ['key'])
    return passed('passed', fleet, 'key', failedCallsBesidePeers(limit, 0))
  },
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

const lostReplies: Story = {
  number: '31',
  fault:
    'refunds and requests reach Redis, and their replies are lost, with units admitted locally',
  must: 'give back once at the most',
  pass: 'passed - given back <= L',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const first = Math.floor((0.6 * limit) / processes.length)
    const second = Math.floor((0.4 * limit) / processes.length) - 1
    await ofEach(fleet, async (algorithm) => {
      const taken: { process: Process; decision: Decision }[] = []
      for (const process of processes) {
        taken.push({ process, decision: await fleet.take(process, algorithm, 'key', first) })
      }
      for (const process of processes) await fleet.take(process, algorithm, 'key')
      await blip(fleet, processes, algorithm, 'key', second)
      await Promise.all(processes.map(({ wire }) => wire.set('mute')))
      await Promise.all(
        taken.map(async ({ process, decision }) => {
          await fleet.refund(process, algorithm, 'key', { decision, cost: first })
          await fleet.take(process, algorithm, 'key')
        }),
      )
      await cut(processes)
      await reconnect(processes)
    })
    await bringBack(processes)
    await fleet.askFor(COUNTED_MS, ['key'])
    await fleet.exhaust(processes, 'key')
    // Perhaps none was given back: an uncertain refund is not repeated.
    const least = limit - processes.length * (first + 1)
    return passed('passed and not given back', fleet, 'key', lostReply(limit), least)
  },
}

/** Also a call that Weir decides itself before it knows of the connection would count. */
const notWith = { glide: 'as only answers show that GLIDE is connected again' }

export const failedCalls: readonly Story[] = [alone, besidePeers, lostReplies].map((story) => ({
  ...story,
  notWith,
}))
