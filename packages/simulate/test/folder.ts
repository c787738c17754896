// A folder for the files of a test, which is removed afterwards. It is inside the package, so that
// a policies file finds its imports.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll } from 'vitest'

const root = resolve(import.meta.dirname, '../node_modules/.tests')

export interface Folder {
  path(name: string): string
  /** Writes a file, and returns its path. */
  write(name: string, content: string | Uint8Array): string
}

export function folder(): Folder {
  mkdirSync(root, { recursive: true })
  const path = mkdtempSync(join(root, 'f-'))
  afterAll(() => rmSync(path, { recursive: true }))
  return {
    path: (name) => join(path, name),
    write(name, content) {
      writeFileSync(join(path, name), content)
      return join(path, name)
    },
  }
}
