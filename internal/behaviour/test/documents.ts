// The documents for users.

import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root: string = resolve(import.meta.dirname, '../../..')

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = folder === '.' ? name : `${folder}/${name}`
    if (name === 'node_modules' || name.startsWith('.')) return []
    if (statSync(join(root, path)).isDirectory()) return markdownIn(path)
    return name.endsWith('.md') ? [path] : []
  })
}

const INTERNAL = /^(internal|packages\/\w+\/api)/

/** Paths from the root of the repository. */
export const documents: readonly string[] = markdownIn('.').filter((path) => !INTERNAL.test(path))
