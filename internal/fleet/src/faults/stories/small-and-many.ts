// What an outage of all processes must not refuse: many users with few requests each, limits
// smaller than the number of processes, and long keys, which clients choose.
import { ownPolicyInOutage, staleView, wholeOutage } from '../../promises/bounds.js'
import { type Check, countAtMost } from '../checks.js'
import { bringBack, cut, type Process, passed } from '../fleet.js'
import type { Story } from './story.js'

const USERS = 10_500
/** Users who send more requests afterwards. */
const SOME = ['user-0', `user-${USERS / 2}`, `user-${USERS - 1}`]
const RECOVERED_MS = 1_000

const users: Story = {
  number: '36',
  fault: `in an outage ${USERS} users send one request each, of each algorithm, to one process`,
  must: 'refuse none, and count what was admitted of each',
  pass: 'refused 0; passed <= L',
  alone: true,
  // Each local quota is 1.
  limit: (size) => size,
  async tell({ fleet }) {
    const { limit, processes } = fleet
    const [process] = processes.slice(-1) as [Process]
    await cut(processes)
    // Each process has noticed, so its local quota stays a ceiling until all are back.
    await fleet.ask(processes, 'other')
    const names = Array.from({ length: USERS }, (_, i) => `user-${i}`)
    for (const name of names) await fleet.ask([process], name)
    const refused = names.flatMap((name) => fleet.passed(name)).filter((units) => units === 0)
    await bringBack(processes)
    await fleet.askFor(RECOVERED_MS, SOME)
    for (const key of SOME) await fleet.exhaust(processes, key)
    return [
      countAtMost('refused', refused.length, 0),
      ...SOME.flatMap((key) => passed(key, fleet, key, wholeOutage(limit, 0))),
    ]
  },
}

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

export const smallAndMany: readonly Story[] = [users, ownPolicy, longKeys]
