// Subjects take turns, round after round, so that disturbances of the machine affect all of them.
// Each round begins with another subject.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Samples } from './table.js'

/** The figures of one turn. */
export type Turn = Readonly<Record<string, number>>

/** @returns the samples of each subject, in the order of the subjects */
export async function inRounds<Subject>(
  subjects: readonly Subject[],
  rounds: number,
  turn: (subject: Subject, round: number) => Promise<Turn>,
): Promise<Samples[]> {
  const samples: Record<string, number[]>[] = subjects.map(() => ({}))
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < subjects.length; place += 1) {
      const at = (place + round) % subjects.length
      const figures = await turn(subjects[at] as Subject, round)
      const own = samples[at] as Record<string, number[]>
      for (const [metric, value] of Object.entries(figures)) {
        own[metric] ??= []
        own[metric].push(value)
      }
    }
  }
  return samples
}

/**
 * Frees all unused memory, to measure the rest. Not for use before a turn: it makes V8 begin with a
 * small heap again, which costs most for subjects that allocate most, unlike in a running service.
 */
export const collectGarbage: () => void = ((): (() => void) => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
})()
