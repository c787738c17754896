// An outage of all processes ends for one after the other: Redis must not grant again what those
// that are still away spend of their local quotas.
import { localQuotas, returnOfProcesses } from '../bounds.js'
import { bringBack, cut, passed } from '../fleet.js'
import type { Story } from './story.js'

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
    for (const some of [last, others]) await fleet.exhaust(some, 'new')
    await bringBack(others)
    await fleet.exhaust(processes, 'new')
    const quotas = localQuotas(limit, processes.length).slice(0, -1)
    return passed('new key', fleet, 'new', returnOfProcesses(limit, quotas))
  },
}

export const returns: readonly Story[] = [quotaOfNone]
