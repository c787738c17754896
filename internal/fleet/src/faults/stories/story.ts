// Rows with several processes, each with all algorithms at once: those that no scenario of
// ../../stories tells in virtual time, and those that need real heartbeats. What Redis has lost
// when processes return one after another is in packages/core/test/redis/losses.test.ts.
import type { RedisServer } from '@weir/testkit'
import { type Check, named } from '../checks.js'
import { type Fleet, type FleetOptions, openFleet } from '../fleet.js'
import type { Row } from '../row.js'
import type { Stage } from '../stage.js'

const SIZES = [4, 10]
const LIMIT = 100

export interface Scene {
  readonly stage: Stage
  readonly server: RedisServer
  readonly fleet: Fleet
}

export interface Story extends Omit<Row, 'run'>, Partial<Pick<FleetOptions, 'store'>> {
  readonly sizes?: readonly number[]
  tell(scene: Scene): Promise<readonly Check[]>
}

/** Tells a story with 4 processes and with 10 at the same time, each fleet with its own server.
 *  They are alone, since all processes are in this one, and would delay the proxies of others. */
export function storyRow({ sizes = SIZES, store, tell, ...row }: Story): Row {
  const ofSize = async (stage: Stage, size: number): Promise<Check[]> => {
    const server = await stage.redis()
    const fleet = await openFleet(stage, { port: server.port, size, limit: LIMIT, store })
    return named(`${size} processes`, await tell({ stage, server, fleet }))
  }
  return {
    ...row,
    alone: true,
    run: async (stage) => (await Promise.all(sizes.map((size) => ofSize(stage, size)))).flat(),
  }
}
