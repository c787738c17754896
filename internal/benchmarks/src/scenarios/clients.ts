// What a decision costs with the client of each library.

import { byClient } from '../redis/by-client.js'
import { IN_FLIGHT } from '../redis/load.js'
import { contenders, underLoad } from '../redis/processes.js'
import { onRedis } from '../redis/stage.js'
import type { Scenario } from '../scenario.js'
import type { Metric } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more' },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less' },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less' },
]

export const clients: Scenario = {
  id: 'clients',
  title: 'Weir by clients of other libraries',
  about: `The same decisions of a sliding window by each client, ${IN_FLIGHT} in flight on 100,000 keys. The client CPU is that of the whole process, GLIDE's own threads included.`,
  goals: [],
  measure: (scale) =>
    onRedis([], async (server) => {
      const all = contenders(byClient)
      const rows = await underLoad([server], { list: 'clients', exercise: 'distinct' }, all, scale)
      return [{ id: 'load', title: 'Distinct keys', metrics, rows }]
    }),
}
