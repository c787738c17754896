// An unlimited number of keys, as an attacker makes them up.
import { countAtLeast, countAtMost, exactly, msAtMost } from '../checks.js'
import { now } from '../client/time.js'
import { load, runOf } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const KEYS = 1_000_000
/** The default of `maxLocalKeys`; each table may use this much for a key of one policy. */
const LOCAL_KEYS = 100_000
const KEY_BYTES = 1_000
const LOCAL_MB = (LOCAL_KEYS * KEY_BYTES) / 1e6
/** The longest turn of the event loop, in CPU time of all threads, including those that collect
 *  garbage beside it, which visits the objects of all local keys: 28 to 37 ms alone, 45 beside
 *  other work; a whole collection takes 135 to 148 ms alone, and longer on a slower machine. */
const TURN_MS = 50
const TURN_IN_COLLECTIONS = 1 / 3

const policy = { make: 'fixedWindow', options: { name: 'hour', limit: 5, window: '1h' } }

export const flood: Row = {
  number: '23',
  fault: '1,000,000 unique keys, store down',
  must: 'bound its memory',
  alone: true,
  async run(stage, { name }) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const keys = name === 'full' ? KEYS : KEYS / 5
    const client = await stage.client(load(wire.port, { policy, flood: keys }))
    await wire.set('refuse')
    const flooded = await client.flood()
    await wire.set('pass')
    const recovered = await client.recover()
    const report = await client.stop()
    const turnMs = Math.max(TURN_MS, TURN_IN_COLLECTIONS * flooded.collectionMs)
    return [
      countAtMost('memory, MB', Math.round(flooded.memoryGrowthMb), LOCAL_MB),
      msAtMost('p99', flooded.p99, 5),
      msAtMost('longest step beside the requests', flooded.longestTurnMs, turnMs),
      exactly('exhausted key admitted', flooded.exhaustedAdmitted ? 1 : 0, 0),
      countAtMost('errors of decisions', flooded.errors, 0),
      countAtLeast('keys to count afterwards', recovered.keys, LOCAL_KEYS),
      msAtMost('longest step of recovery', recovered.longestTurnMs, TURN_MS),
      ...sane(runOf([report], { from: 0, to: 0 }, now(), wire)),
    ]
  },
}
