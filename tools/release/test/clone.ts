// A clone of this repository that has just been released as 9.0.0, for tests to change.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll } from 'vitest'
import { publishedPackages } from '../packages.mjs'

export const root: string = resolve(import.meta.dirname, '../../..')

export interface Clone {
  readonly folder: string
  git(...args: string[]): void
  read(path: string): string
  write(path: string, text: string): void
  edit(path: string, change: (text: string) => string): void
  commit(): void
  /** Restores the clone to its first state. */
  reset(): void
  /** The output of `npm run release -- --check`, and whether it refuses. */
  check(...args: string[]): { refused: boolean; said: string }
}

export const VERSION = '9.0.0'

export function releasedClone(): Clone {
  const folder = mkdtempSync(join(tmpdir(), 'weir-release-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('git', ['clone', '--quiet', '--shared', root, folder])
  const clone = cloneIn(folder)
  clone.git('config', 'user.name', 'test')
  clone.git('config', 'user.email', 'test@example.org')
  for (const { folder: pack, manifest } of publishedPackages(folder)) {
    clone.edit(`${pack}/package.json`, (text) => {
      return text.replace(`"version": "${manifest.version}"`, `"version": "${VERSION}"`)
    })
    clone.write(`${pack}/CHANGELOG.md`, `# ${manifest.name}\n\n## ${VERSION}\n\nAll is well.\n`)
  }
  clone.edit('package.json', (text) => text.replace(/ {2}"repository": .*\n/, ''))
  for (const name of readdirSync(join(folder, '.changeset')))
    if (name.endsWith('.md')) rmSync(join(folder, '.changeset', name))
  clone.commit()
  clone.git('branch', 'released')
  clone.git('tag', `v${VERSION}`)
  return clone
}

function cloneIn(folder: string): Clone {
  const git = (...args: string[]) => void execFileSync('git', args, { cwd: folder })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text)
  return {
    folder,
    git,
    read,
    write,
    edit: (path, change) => write(path, change(read(path))),
    commit() {
      git('add', '--all')
      git('commit', '--quiet', '--message', 'test')
    },
    reset() {
      git('reset', '--quiet', '--hard', 'released')
      git('tag', '--force', `v${VERSION}`)
      git('clean', '--quiet', '--force', '--force', '-d')
    },
    check(...args) {
      const release = join(root, 'tools/release/release.mjs')
      const { GITHUB_BASE_REF: _, ...env } = process.env
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [release, '--check', ...args],
        { cwd: folder, env, encoding: 'utf8' },
      )
      return { refused: status === 1, said: stdout + stderr }
    },
  }
}
