// Weir 0.1 as one more subject, beside the present in the same process and rounds.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { BUILT } from '../child.js'
import type { RedisSubjectKind } from '../redis/subject.js'
import { WEIR } from '../redis/weir.js'
import type { Scale } from '../scenario.js'
import { inThePast } from '../table.js'

let copy: string | undefined

/**
 * A copy of these benchmarks, where `@weir/*` is that of 0.1, built from git history. It is there
 * until the process ends.
 */
export function built01(): string {
  if (copy !== undefined) return copy
  const tool = fileURLToPath(new URL('../../../../tools/reference.mjs', import.meta.url))
  const reference = execFileSync(process.execPath, [tool], { encoding: 'utf8' }).trim()
  const folder = mkdtempSync(join(reference, 'packages/benchmarks/dist-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(BUILT, folder, { recursive: true })
  copy = folder
  return folder
}

type Modules = {
  'redis/weir.js': typeof import('../redis/weir.js')
  'redis/cluster-subjects.js': typeof import('../redis/cluster-subjects.js')
}

/** Weir's policies by 0.1, on a server. */
export async function past({ reference }: Scale): Promise<readonly RedisSubjectKind[]> {
  const { weir } = await load('redis/weir.js', reference)
  return weir.map(asPast)
}

/** The same on a Cluster, without hash tags. */
export async function pastOnCluster({ reference }: Scale): Promise<readonly RedisSubjectKind[]> {
  const { clusterSubjects } = await load('redis/cluster-subjects.js', reference)
  return clusterSubjects.filter(({ name }) => WEIR.includes(name)).map(asPast)
}

function load<Name extends keyof Modules>(
  name: Name,
  reference: Scale['reference'],
): Promise<Modules[Name]> {
  const folder = reference === '0.1' ? built01() : BUILT
  return import(pathToFileURL(join(folder, name)).href)
}

function asPast(kind: RedisSubjectKind): RedisSubjectKind {
  return { ...kind, name: inThePast(kind.name), kind: 'past' }
}
