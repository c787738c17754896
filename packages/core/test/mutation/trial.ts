// Whether a mutant of the Lua is told from the original. tools/mutate.mjs puts this file, the tests
// that it uses and the mutated sources into a folder of their own, and loads them there anew for
// each mutant.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import type { Kernel } from '../../src/algorithms/algorithm.js'
import { kernels } from '../redis/differential/model.js'
import {
  type KernelName,
  kernelNames,
  type WalkRecipe,
  walks,
} from '../redis/differential/recipe.js'
import { replay } from '../redis/differential/replay.js'
import { takeWalk, type Walk } from '../redis/differential/walk.js'

/**
 * What the original says. Walks of one policy come first: they are short, and tell most mutants.
 */
export function recordWalks(seed: number, perKernel: number): Walk[] {
  const recipes = kernelNames.flatMap((kernel): WalkRecipe[] =>
    fc.sample(walks(kernel), { seed, numRuns: perKernel }),
  )
  const taken = [...recipes, ...failedBefore()].map(takeWalk)
  return taken.sort((one, other) => weight(one) - weight(other))
}

function failedBefore(): WalkRecipe[] {
  const file = new URL('../redis/differential/failures.jsonl', import.meta.url)
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { recipe: WalkRecipe }).recipe)
}

function weight({ versions, calls }: Walk): number {
  return ((versions[0]?.length ?? 0) > 1 ? 1e6 : 0) + calls.length
}

/** Those of the walks in which a policy is on the kernel; all, if none is named. */
export function walksOn(taken: readonly Walk[], kernel: KernelName | undefined): readonly Walk[] {
  if (kernel === undefined) return taken
  const { id } = kernels[kernel] as Kernel
  return taken.filter(({ versions }) =>
    versions[0]?.some((policy) => kernels[policy.kernel]?.id === id),
  )
}

/** The Lua that this module was loaded with, against what was recorded. Rejects if it differs. */
export async function tryLua(taken: readonly Walk[], client: Redis, name: string): Promise<void> {
  for (const [i, walk] of taken.entries()) await replay(client, walk, `${name}-${i}`)
}
