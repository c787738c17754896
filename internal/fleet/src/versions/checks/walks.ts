// Random walks over all algorithms and modes: either version decides the same together with the
// other as alone, and both write the same.

import type { Bench, Found } from '../bench.js'
import { kindsOn } from '../kinds.js'
import { smallest, take, told, walkOf } from '../walk.js'
import { closePair, pairOf } from '../worlds.js'
import { continued } from './kernels.js'

export interface WalkOptions {
  readonly steps: number
  readonly seed: number
  /** The first policies of walks, as in `KINDS`; if undefined, all whose counts continue. */
  readonly kinds?: readonly string[]
  /** The number of unknown differences after which the check ends. */
  readonly most?: number
  readonly isKnown?: (problem: string) => boolean
}

export async function checkWalks(bench: Bench, options: WalkOptions): Promise<Found> {
  const { steps, seed, most = 3, isKnown = () => false } = options
  const kinds = options.kinds ?? kindsOn(continued(bench))
  const pair = pairOf(bench.versions, await bench.newClient())
  const seen = { steps: 0, granted: 0, denied: 0 }
  const problems: string[] = []
  let walks = 0
  while (seen.steps < steps && problems.filter((each) => !isKnown(each)).length < most) {
    const walked = await take(pair, walkOf(seed + walks, kinds))
    walks += 1
    seen.steps += walked.steps
    seen.granted += walked.granted
    seen.denied += walked.denied
    if (walked.difference !== undefined)
      problems.push(told(await smallest(pair, walked.difference)))
  }
  await closePair(pair)
  const { granted, denied } = seen
  const did = `${seen.steps} steps in ${walks} walks, ${granted} granted, ${denied} denied`
  return { did, problems }
}
