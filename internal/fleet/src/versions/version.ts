// A version of Weir that was loaded from a folder, as far as the comparison uses it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Policy, RedisStore, RedisStoreOptions } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import { algorithms } from '@weir/core/testing'
import type { Redis } from 'ioredis'
import { root } from '../places/places.js'

export interface Version {
  readonly name: string
  readonly core: typeof import('@weir/core') & typeof import('@weir/core/live')
}

/** The exports of a package: conditions, and at the end a path. */
type Exported = string | { readonly [condition: string]: Exported }

/** Loads the @weir/core in a folder as Node's `import` does. Versions before 0.3 have no entry for
 *  live limits: their root has all. */
export async function versionIn(folder: string, name: string): Promise<Version> {
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  const { exports } = JSON.parse(text) as { readonly exports: Exported }
  const modules = ['.', './live'].flatMap((entry) => {
    const exported = (exports as Record<string, Exported>)[entry]
    return exported === undefined
      ? []
      : [import(pathToFileURL(join(folder, pathIn(exported))).href)]
  })
  return { name, core: Object.assign({}, ...(await Promise.all(modules))) }
}

function pathIn(exported: Exported): string {
  if (typeof exported === 'string') return exported
  const { node, import: imported, default: otherwise } = exported
  return pathIn((node ?? imported ?? otherwise) as Exported)
}

/** The folder of the present version's build. */
export const presentFolder: string = join(root, 'packages/core')

/** A store on which only Redis decides, with a very long deadline and no deny cache. */
export function storeOf(
  { core }: Version,
  client: Redis,
  options: RedisStoreOptions = {},
): RedisStore {
  return core.redisStore(client, {
    deadlineMs: 60_000,
    whenUnavailable: 'throw',
    instances: 1,
    denyCache: false,
    ...options,
  })
}

/** A policy of this version, with the same kernel as a policy of another version. */
export function policyLike({ core }: Version, policy: Policy): Policy {
  const { algorithm, timeScale } = policy
  if (kernelOf(policy)?.periodAt === undefined)
    return core.policyFrom({ algorithm, ...ALGORITHMS.get(algorithm)?.[1] })
  const [, window, weekStart, timeZone] = /^(\w+)(?:-(\w+))?@(.+)$/.exec(timeScale) ?? []
  const week = weekStart === undefined ? {} : { weekStart }
  return core.policyFrom({ algorithm, limit: 1, window, timeZone, ...week })
}

/** For each algorithm, the folder of its kernel, and the smallest policy. */
const ALGORITHMS: ReadonlyMap<string, readonly [folder: string, smallest: object]> = new Map(
  Object.entries(algorithms).flatMap(([folder, { policies }]) =>
    Object.values(policies).map(({ of }) => {
      const { algorithm, options } = of(1, '1s')
      // Without the options that are undefined, which an earlier version may not know.
      return [algorithm, [folder, JSON.parse(JSON.stringify(options))]] as const
    }),
  ),
)

/** The algorithms of these kernel folders. */
export function algorithmsOn(folders: readonly string[]): Policy['algorithm'][] {
  const on = [...ALGORITHMS].filter(([, [folder]]) => folders.includes(folder))
  return on.map(([name]) => name as Policy['algorithm'])
}

/** The ids of a version's kernels, by the names of their folders. */
export function kernelsOf({ core }: Version): ReadonlyMap<string, string> {
  const ids = new Map<string, string>()
  for (const [algorithm, [folder, smallest]] of ALGORITHMS) {
    const kernel = isKnown(core, algorithm) && kernelOf(core.policyFrom({ algorithm, ...smallest }))
    if (kernel) ids.set(folder, kernel.id)
  }
  return ids
}

/** Whether a version has this algorithm. */
function isKnown(core: Version['core'], algorithm: string): boolean {
  try {
    core.policyFrom({ algorithm })
    return true
  } catch (error) {
    // The version has the algorithm, and complains of missing options.
    return !(error as Error).message.startsWith('algorithm is ')
  }
}
