// Processes that do not know what others do: cut off alone, idle for a while, or not there when
// Redis forgot.
import {
  localQuotas,
  lossSeenByOtherFirst,
  lossSeenFirst,
  moreKeysThanRemembered,
  partialOutage,
  staleView,
} from '../../promises/bounds.js'
import { bringBack, cut, type Process, passed } from '../fleet.js'
import type { Story } from './story.js'

const partial: Story = {
  number: '32',
  fault: 'one process, half of them, and all but one are cut off, while the others reach Redis',
  must: 'keep each to its local quota',
  pass: 'passed <= L + local quotas of those cut off',
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

const stale: Story = {
  number: '33',
  fault: 'all are cut off, after one took the rest of a key that the others had seen, or not',
  must: 'start each from what it last saw',
  pass: 'passed <= L + the part of each process in what others took since it last saw the key',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const last = processes.slice(-1)
    await fleet.ask(processes, 'seen')
    for (const key of ['seen', 'never seen']) await fleet.exhaust(last, key)
    await cut(processes)
    for (const key of ['seen', 'never seen']) await fleet.exhaust(processes, key)
    await bringBack(processes)
    for (const key of ['seen', 'never seen']) await fleet.exhaust(processes, key)
    const since = processes.map(({ rank }) => limit - 1 - rank)
    const never = processes.map(() => limit)
    const ofOthers = (units: number[]): number[] => [...units.slice(0, -1), 0]
    return [
      ...passed('seen', fleet, 'seen', staleView(limit, ofOthers(since))),
      ...passed('never seen', fleet, 'never seen', staleView(limit, ofOthers(never))),
    ]
  },
}

const LOSSES = 2

const lost: Story = {
  number: '34',
  notWithLeases:
    'one that ends after a loss gives units back, which keeps what was seen before from being restored',
  fault: `Redis forgets all keys ${LOSSES} times; each time another process is the first to ask, or one that knows`,
  must: 'restore what the process that asks has seen',
  pass: 'passed <= L x (1 + losses), or, seen by who knew, L + losses x in flight',
  async tell({ server, fleet }) {
    const { limit, processes } = fleet
    const [first, second, third] = processes as [Process, Process, Process]
    await fleet.exhaust([first], 'other first')
    await fleet.ask([first], 'same first', limit / 2)
    for (const other of [second, third]) {
      await server.command('FLUSHALL')
      // One request is in flight when the loss shows.
      await fleet.ask([first], 'same first')
      await fleet.exhaust([other], 'other first')
    }
    for (const key of ['other first', 'same first']) await fleet.exhaust(processes, key)
    return [
      ...passed('another first', fleet, 'other first', lossSeenByOtherFirst(limit, LOSSES)),
      ...passed('the same first', fleet, 'same first', lossSeenFirst(limit, LOSSES, 1)),
    ]
  },
}

/** The smallest number of keys that a process may be told to remember, and a larger one. */
const REMEMBERED = 1_000
const OTHERS = 5 * REMEMBERED

const forgotten: Story = {
  number: '35',
  fault: `all are cut off, after each has seen ${OTHERS} other keys, of which it remembers ${REMEMBERED}`,
  must: 'keep each to its local quota, and remember a key that is exhausted',
  pass: 'passed <= L + local quotas of those that have forgotten the key',
  store: { maxLocalKeys: REMEMBERED },
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const last = processes.slice(-1)
    await fleet.ask(last, 'used', limit - processes.length)
    await fleet.ask(processes, 'used')
    await fleet.exhaust(processes, 'exhausted')
    for (const process of processes) await fleet.askOthers(process, OTHERS)
    await cut(processes)
    for (const key of ['used', 'exhausted']) await fleet.exhaust(processes, key)
    await bringBack(processes)
    for (const key of ['used', 'exhausted']) await fleet.exhaust(processes, key)
    const quotas = localQuotas(limit, processes.length)
    return [
      ...passed('used', fleet, 'used', moreKeysThanRemembered(limit, quotas)),
      ...passed('exhausted', fleet, 'exhausted', limit),
    ]
  },
}

export const partialViews: readonly Story[] = [partial, stale, lost, forgotten]
