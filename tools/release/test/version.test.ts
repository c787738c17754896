// The version pull request contains what the pending changesets make of the packages.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { gitLines } from '../git.mjs'
import { notesOf, notesOfAll } from '../notes.mjs'
import { releasedClone, root } from './clone.js'

const NAMES = ['compat', 'core', 'dashboard', 'express', 'koa', 'metrics', 'nest', 'simulate']
const NO_BRANCH = 'is not one commit on top of this one'

describe('with a pending changeset', () => {
  const clone = releasedClone()
  const out = join(clone.folder, '.git/proposed')
  /** The repository to which the branch is pushed. */
  const origin = join(clone.folder, '.git/origin')
  const proposing = join(clone.folder, '.git/proposing')
  const gh = join(clone.folder, '.git/gh-said')
  const env = { GH_TOKEN: 'x' }

  beforeAll(() => {
    for (const part of ['node_modules', 'tools/node_modules'])
      symlinkSync(join(root, part), join(clone.folder, part))
    clone.write('.git/info/exclude', 'node_modules\n')
    clone.write('.changeset/new.md', '---\n"@weir/koa": minor\n---\n\nWhat is new.\n')
    clone.git('add', '.changeset')
    clone.git('commit', '--quiet', '--message', 'new')
    clone.git('switch', '--quiet', '--force-create', 'base')
    clone.git('clone', '--quiet', '--bare', '--shared', '.', origin)
    clone.git('clone', '--quiet', '--branch', 'base', origin, proposing)
    expect(run('next-version.mjs', clone.folder, out)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('next-version has 9.1.0, of 1 changesets\n'),
    })
    mkdirSync(join(clone.folder, '.git/bin'))
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" >> '${gh}'\n[ "$2" = list ] && cat '${gh}.open'\nexit 0\n`
    writeFileSync(join(clone.folder, '.git/bin/gh'), script, { mode: 0o755 })
  })

  beforeEach(() => {
    writeFileSync(gh, '')
    writeFileSync(`${gh}.open`, '[]')
    execFileSync('git', ['switch', '--quiet', 'base'], { cwd: proposing })
  })

  function propose() {
    const PATH = `${join(clone.folder, '.git/bin')}${delimiter}${process.env.PATH}`
    return run('version-pull-request.mjs', proposing, out, { ...env, PATH })
  }

  test('the branch has the next version of all packages, its changelog entries, and no changeset', () => {
    const shown = ['--format=%s%n%an', '--name-only', 'next-version']
    expect(gitLines(clone.folder, 'show', ...shown)).toEqual([
      'release: 9.1.0',
      'github-actions[bot]',
      '.changeset/new.md',
      ...NAMES.flatMap((name) => [
        `packages/${name}/CHANGELOG.md`,
        `packages/${name}/package.json`,
      ]),
    ])
    expect(notesOf(clone.read('packages/koa/CHANGELOG.md'), '9.1.0')).toContain('What is new.')
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })

  test('the branch is pushed, and a pull request quotes the changelogs', () => {
    expect(propose()).toMatchObject({ status: 0, stderr: '' })
    expect(gitLines(origin, 'rev-parse', 'next-version')).toEqual(
      gitLines(clone.folder, 'rev-parse', 'next-version'),
    )
    const said = readFileSync(gh, 'utf8')
    expect(said).toContain('pr\ncreate\n--head\nnext-version\n--base\nbase\n')
    expect(said).toContain('--title\nrelease: 9.1.0\n--body\nMerge this to have 9.1.0, and push ')
    expect(said).toMatch(/\n## @weir\/koa\n\n- What is new.\n+$/)
  })

  test('an open pull request is edited', () => {
    writeFileSync(`${gh}.open`, '[{"number":1}]')
    expect(propose()).toMatchObject({ status: 0, stderr: '' })
    expect(readFileSync(gh, 'utf8')).toContain('pr\nedit\nnext-version\n')
  })

  test.each([
    ['changes what no version changes', 'docs/README.md', 'docs/README.md'],
    ['changes a package otherwise', 'packages/core/index.js', 'packages/core/index.js'],
    ['changes a workflow', '.github/workflows/ci.yml', '.github/workflows/ci.yml'],
    ['is more than a version', 'packages/koa/CHANGELOG.md', NO_BRANCH],
  ])('a branch that %s is not pushed', (_, path, said) => {
    clone.git('switch', '--quiet', 'next-version')
    const before = gitLines(clone.folder, 'rev-parse', 'HEAD')
    clone.write(path, 'other')
    clone.git('add', '--all')
    const amended = said === NO_BRANCH ? [] : ['--amend']
    clone.git('commit', '--quiet', '--message', 'release: 9.1.0', ...amended)
    clone.git('bundle', 'create', '--quiet', join(out, 'next-version.bundle'), 'base..next-version')
    const pushed = gitLines(origin, 'for-each-ref')
    const { status, stderr } = propose()
    expect(status).toBe(1)
    expect(stderr).toContain(said)
    expect(gitLines(origin, 'for-each-ref')).toEqual(pushed)
    expect(readFileSync(gh, 'utf8')).toBe('')
    clone.git('reset', '--quiet', '--hard', ...before)
  })
})

test('without a changeset there is no pull request', () => {
  const clone = releasedClone()
  const out = join(clone.folder, '.git/proposed')
  for (const script of ['next-version.mjs', 'version-pull-request.mjs'])
    expect(run(script, clone.folder, out)).toMatchObject({
      status: 0,
      stdout: 'no changeset is pending\n',
      stderr: '',
    })
})

function run(
  script: string,
  cwd: string,
  folder: string,
  env: Record<string, string | undefined> = {},
): { status: number | null; stdout: string; stderr: string } {
  const args = [join(root, 'tools/release', script), folder]
  return spawnSync('node', args, { cwd, encoding: 'utf8', env: { ...process.env, ...env } })
}

describe('the notes of a version', () => {
  test('are its section of the changelog', () => {
    const changelog = '# @weir/core\n\n## 0.3.0\n\n### New\n\n- a\n\n## 0.2.0\n\n- b\n'
    expect(notesOf(changelog, '0.3.0')).toBe('### New\n\n- a')
    expect(notesOf(changelog, '0.2.0')).toBe('- b')
    expect(() => notesOf(changelog, '0.1.0')).toThrow('the changelog says nothing of 0.1.0')
  })

  test('of all packages name an entry of several packages once, and their links lead to the pages of that version', () => {
    const clone = releasedClone()
    const all = '- [It](../../docs/waiting.md#turns)\n  waits.\n'
    for (const name of NAMES) {
      const own = name === 'koa' ? '- Koa alone.\n' : ''
      const others = '- Goes with @weir/core 9.0.0.\n'
      const text = `# @weir/${name}\n\n## 9.0.0\n\n### Minor Changes\n\n${all}${own}\n### Patch Changes\n\n${others}`
      clone.write(`packages/${name}/CHANGELOG.md`, text)
    }
    const notes = (url?: string) => notesOfAll(clone.folder, '9.0.0', url)
    const page = 'https://github.com/o/n/blob/v9.0.0/docs/waiting.md#turns'
    expect(notes('https://github.com/o/n')).toBe(
      `## @weir/core\n\n- [It](${page})\n  waits.\n\n## @weir/koa\n\n- Koa alone.\n`,
    )
    expect(notes()).toContain('- It\n  waits.\n')
  })
})
