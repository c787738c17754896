// Processes that nobody has told how many they are: they have to count each other before an outage.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@weir/testkit'
import { unknownInstances, wholeOutage } from '../../promises/bounds.js'
import { msAtMost } from '../checks.js'
import { now } from '../client/time.js'
import { bringBack, cut, Fleet, openFleet, passed } from '../fleet.js'
import { type Scene, storyRow } from './story.js'

const STORE = { instances: undefined }
/** A process says again after half a second that it is there, and then every 3 s. */
const SAID_TWICE_MS = 600
const COUNTED_MS = 3_500

/** The fleet, joined by some more processes. */
async function joined({ stage, server }: Scene, fleet: Fleet, size: number): Promise<Fleet> {
  const { processes, limit, algorithms } = fleet
  const more = await openFleet(stage, { port: server.port, size, limit, store: STORE })
  return new Fleet([...processes, ...more.processes], limit, algorithms)
}

export const starts = storyRow({
  number: '43',
  fault:
    'instances is not given: as many processes start as are there, and all are cut off once they are counted; then one more starts, and all are cut off at once',
  must: 'count the others in time',
  sizes: [2, 4],
  store: STORE,
  async tell(scene) {
    await sleep(SAID_TWICE_MS)
    const begun = now()
    const all = await joined(scene, scene.fleet, scene.fleet.processes.length)
    await waitUntil('all to be counted', async () =>
      all.processes.every(({ store }) => store.health().instances === all.processes.length),
    )
    const counted = msAtMost('all counted after', now() - begun, COUNTED_MS)
    await cut(all.processes)
    await all.exhaust(all.processes, 'counted')
    await bringBack(all.processes)
    const more = await joined(scene, all, 1)
    await cut(more.processes)
    await more.exhaust(more.processes, 'one more')
    return [
      counted,
      ...passed('counted', all, 'counted', wholeOutage(all.limit, 0)),
      ...passed('one more', more, 'one more', unknownInstances(all.limit, 1)),
    ]
  },
})
