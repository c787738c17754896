// What an outage of all processes must not refuse: many users of few requests each, limits smaller
// than the number of processes, and long keys, which clients choose.
import { ownPolicyInOutage, staleView } from '../bounds.js'
import { type Check, countAtMost } from '../checks.js'
import { bringBack, cut, passed } from '../fleet.js'
import type { Story } from './story.js'

const RECOVERED_MS = 1_000

const OWN_LIMIT = 5

const ownPolicy: Story = {
  number: '37',
  fault: 'in an outage each process decides by a policy of its own',
  must: 'admit as that policy says, and count it afterwards',
  pass: 'passed in the outage <= processes x its limit; none refused of one request to each process',
  limit: () => OWN_LIMIT,
  whenUnavailable: { make: 'fixedWindow', options: { limit: OWN_LIMIT, window: '1d' } },
  async tell({ fleet }) {
    const { limit, processes } = fleet
    await fleet.exhaust(processes, 'used')
    await cut(processes)
    for (const key of ['new', 'used']) await fleet.exhaust(processes, key)
    await fleet.ask(processes, 'honest')
    await bringBack(processes)
    await fleet.askFor(RECOVERED_MS, ['new', 'used'])
    for (const key of ['new', 'used']) await fleet.exhaust(processes, key)
    const inOutage = ownPolicyInOutage(OWN_LIMIT, processes.length)
    return [
      ...passed('new key', fleet, 'new', inOutage),
      ...passed('used up before', fleet, 'used', limit + inOutage),
      countAtMost('refused', processes.length - Math.min(...fleet.passed('honest')), 0),
    ]
  },
}

const LENGTHS = [256, 300, 1_100, 8_192]

const longKeys: Story = {
  number: '38',
  fault: `an outage, with keys of ${LENGTHS.join(', ')} characters`,
  must: 'count keys of any length afterwards',
  pass: 'passed <= L, + what others took since a process last saw the key',
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const keys = LENGTHS.map((length) => 'k'.repeat(length))
    for (const key of keys) await fleet.ask(processes, key)
    await cut(processes)
    for (const key of keys) await fleet.exhaust(processes, key)
    await bringBack(processes)
    await fleet.askFor(RECOVERED_MS, keys)
    for (const key of keys) await fleet.exhaust(processes, key)
    const takenSince = processes.map(({ rank }) => processes.length - 1 - rank)
    const bound = staleView(limit, takenSince)
    return keys.flatMap((key): Check[] => passed(`${key.length}`, fleet, key, bound))
  },
}

export const smallAndMany: readonly Story[] = [ownPolicy, longKeys]
