// Processes that do not know what others do: cut off alone or for one call, or no longer aware of a
// key.
import {
  failedCallsBesidePeers,
  localQuotas,
  moreKeysThanRemembered,
  partialOutage,
} from '../../promises/bounds.js'
import { bringBack, cut, type Process, passed, reconnect } from '../fleet.js'
import type { Row } from '../row.js'
import { type Story, storyRow } from './story.js'

const partial: Story = {
  number: '32',
  fault: 'one process, half of them, and all but one are cut off, while the others reach Redis',
  must: 'keep each to its local quota',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const quotas = localQuotas(limit, processes.length)
    const counts = [1, processes.length / 2, processes.length - 1]
    for (const count of counts) {
      const away = processes.slice(0, count)
      await cut(away)
      await fleet.ask(away, 'other')
      await fleet.exhaust(processes.slice(count), `${count}`)
      await fleet.exhaust(away, `${count}`)
    }
    await bringBack(processes)
    for (const count of counts) await fleet.exhaust(processes, `${count}`)
    return counts.flatMap((count) => {
      const most = partialOutage(limit, quotas.slice(0, count))
      return passed(`${count} cut off`, fleet, `${count}`, most)
    })
  },
}

/** By then, Redis has counted what was admitted for single failed calls. */
const COUNTED_MS = 1_500

const blip: Story = {
  number: '30',
  fault: 'a blip of each connection but one, with a request in each, while one process goes on',
  must: 'count what was admitted in the blip, once',
  notWith: { glide: 'as only answers show that GLIDE is connected again' },
  async tell({ fleet }) {
    const { limit, processes, algorithms } = fleet
    const some = processes.slice(0, -1)
    const last = processes.at(-1) as Process
    const cost = Math.floor((limit - processes.length) / processes.length)
    // One after another: otherwise enough calls would fail at once to open the breaker.
    for (const i of algorithms.keys()) {
      for (const process of processes) await fleet.take(process, i, 'key')
      await cut(some)
      for (const process of some) await fleet.take(process, i, 'key', cost)
      await reconnect(some)
      await fleet.takeAll(last, i, 'key')
    }
    await fleet.askFor(COUNTED_MS, ['key'])
    return passed('passed', fleet, 'key', failedCallsBesidePeers(limit, some.length * cost))
  },
}

/** The smallest number of keys that a process may be told to remember, and a larger one. */
const REMEMBERED = 1_000
const OTHERS = 5 * REMEMBERED

const forgotten: Story = {
  number: '35',
  fault: `all are cut off, after each has seen ${OTHERS} other keys, of which it remembers ${REMEMBERED}`,
  must: 'keep each to its local quota, and remember a key that is exhausted',
  store: { maxLocalKeys: REMEMBERED },
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const last = processes.slice(-1)
    const keys = ['used', 'exhausted']
    await fleet.ask(last, 'used', limit - processes.length)
    await fleet.ask(processes, 'used')
    await fleet.exhaust(processes, 'exhausted')
    for (const process of processes) await fleet.askOthers(process, OTHERS)
    await cut(processes)
    for (const key of keys) await fleet.exhaust(processes, key)
    await bringBack(processes)
    for (const key of keys) await fleet.exhaust(processes, key)
    const quotas = localQuotas(limit, processes.length)
    return [
      ...passed('used', fleet, 'used', moreKeysThanRemembered(limit, quotas)),
      ...passed('exhausted', fleet, 'exhausted', limit),
    ]
  },
}

export const partialViews: readonly Row[] = [blip, partial, forgotten].map((story) =>
  storyRow({ ...story, fullOnly: true }),
)
