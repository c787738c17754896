// A kernel's id is the version of its state, and part of each key: with a new id, counts start
// again. A changeset must say so if and only if an id is new.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../places/places.js'
import type { Bench, Found } from '../bench.js'
import { kernelsOf } from '../version.js'

const script = pathToFileURL(join(root, 'scripts/new-counters.mjs')).href
const { newCountersIn }: { newCountersIn(text: string): string[] } = await import(script)

/** The algorithms whose counts start again, according to the changesets. */
export function declaredNewCounters(): readonly string[] {
  const folder = join(root, '.changeset')
  const files = readdirSync(folder).filter((name) => name.endsWith('.md'))
  return files.flatMap((name) => newCountersIn(readFileSync(join(folder, name), 'utf8')))
}

/** The algorithms whose counts continue. */
export function continued({ versions: [earlier, present] }: Pick<Bench, 'versions'>): string[] {
  const was = kernelsOf(earlier)
  return [...kernelsOf(present)].filter(([name, id]) => was.get(name) === id).map(([name]) => name)
}

export function checkKernels(
  { versions: [earlier, present] }: Pick<Bench, 'versions'>,
  declared: readonly string[],
): Found {
  const before = kernelsOf(earlier)
  const kernels = [...kernelsOf(present)]
  const problems = kernels.flatMap(([name, is]) => {
    const was = before.get(name)
    const line = `New counters: ${name}.`
    if (was !== undefined && was !== is && !declared.includes(name))
      return [`the kernel ${was} is now ${is}: say "${line}" in a changeset`]
    if (was === is && declared.includes(name))
      return [`a changeset says "${line}", and the kernel is ${is} as before: give it a new id`]
    return []
  })
  return { did: `kernels ${kernels.map(([, id]) => id).join(', ')}`, problems }
}
