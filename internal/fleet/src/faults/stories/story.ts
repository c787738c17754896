// Runs a story with 4 processes and with 10 at the same time, each fleet with its own server, over
// all algorithms.
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

export async function told(story: Story, stage: Stage): Promise<readonly Check[]> {
  const { sizes = SIZES, store, tell } = story
  const ofSize = async (size: number): Promise<Check[]> => {
    const server = await stage.redis()
    const options = { port: server.port, size, limit: LIMIT, store }
    const fleet = await openFleet(stage, options)
    return named(`${size} processes`, await tell({ stage, server, fleet }))
  }
  return (await Promise.all(sizes.map(ofSize))).flat()
}
