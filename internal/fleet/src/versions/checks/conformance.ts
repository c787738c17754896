// The conformance suite on a store whose requests go to a random version: the traces of all
// algorithms whose counts continue, the letters of the contract, keys, turns, settings, and random
// walks, each request of which either version continues from what the other has stored.

import { type FakeClock, storeConformance } from '@weir/core/testing'
import { randomOf } from '@weir/testkit/virtual-time'
import type { Bench, Found } from '../bench.js'
import { storeOfBoth } from '../both.js'
import { algorithmsOn, storeOf } from '../version.js'
import { continued } from './kernels.js'

/** Cases that take little time, and write and read every stored form. */
export const BRIEF: RegExp = /^trace |refund|reset|restore/

/** @param of the names of cases to run; default: all */
export async function checkConformance(
  bench: Bench,
  seed: number,
  of: RegExp = /./,
): Promise<Found> {
  const client = await bench.newClient()
  const [earlier, present] = bench.versions
  const random = randomOf(seed)
  const algorithms = algorithmsOn(continued(bench))
  const create = (clock: FakeClock) => {
    const prefix = bench.newPrefix()
    const stores = [
      storeOf(earlier, client, { prefix, clock }),
      storeOf(present, client, { prefix, clock }),
    ] as const
    return storeOfBoth(bench.versions, stores, () => random.pick([0, 1]))
  }
  const cases = storeConformance(create, { algorithms }).filter(({ name }) => of.test(name))
  const problems: string[] = []
  for (const { name, run } of cases) {
    try {
      await run()
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`)
    }
  }
  return { did: `${cases.length} cases`, problems }
}
