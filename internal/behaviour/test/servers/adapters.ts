// The servers of the adapters: `packages/NAME/test/behaviour.ts` of each package that has one.

import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AdapterKind } from './kind.js'

const packages = fileURLToPath(new URL('../../../../packages/', import.meta.url))
const paths = readdirSync(packages)
  .map((name) => `${packages}${name}/test/behaviour.ts`)
  .filter((path) => existsSync(path))

/** By the name of the package's folder. */
export const adapters: readonly AdapterKind[] = await Promise.all(
  paths.map(async (path) => ((await import(path)) as { adapter: AdapterKind }).adapter),
)
