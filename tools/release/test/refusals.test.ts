// A release is refused, with what to do about it, while something is missing.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { refusals } from '../refusals.mjs'
import { changedStateForms } from '../state-forms.mjs'
import { releasedClone, root, VERSION } from './clone.js'

const REPORT = 'packages/express/api/express.api.md'
const RECORD = 'packages/core/test/redis/stored-state.jsonl'
const clone = releasedClone()
beforeEach(() => clone.reset())

const changeset = (name: string) => `---\n"${name}": minor\n---\n\nWhat is new.\n`

test('a release is allowed if the tree is committed, a changelog is there and nothing is pending', () => {
  expect(clone.check()).toEqual({
    refused: false,
    said: 'release: nothing is in its way\n',
  })
})

test('with uncommitted files it is refused, and they are named', () => {
  clone.write('README.md', 'changed')
  clone.write('new.txt', 'new')
  const { refused, said } = clone.check()
  expect(refused).toBe(true)
  expect(said).toBe(
    'release refused: files are not committed: commit them, or put them away: README.md, new.txt\n',
  )
})

describe('while the address of the project is not set', () => {
  test('publishing is refused, and the message says what to write where', () => {
    clone.git('tag', '--force', `v${VERSION}`)
    const { refused, said } = clone.check('--for-publishing')
    expect(refused).toBe(true)
    expect(said).toMatch(/^release refused: nobody has said where the project lives, /)
    expect(said).toContain(
      'write "repository": "github:OWNER/NAME" in the package.json of the root',
    )
  })

  test('what the message asks for is enough', () => {
    clone.edit('package.json', (text) =>
      text.replace('"private"', '"repository": "github:owner/name",\n  "private"'),
    )
    clone.commit()
    clone.git('tag', '--force', `v${VERSION}`)
    clone.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    expect(clone.check('--for-publishing').said).toBe('release: nothing is in its way\n')
  })

  test.each([
    ['that is on origin/main is published', 'HEAD', 'true', ''],
    ['that is not on origin/main is not', 'HEAD^', '', 'this commit is not on origin/main, '],
    ['is not published by a workflow that has no origin/main', '', 'true', 'is not on origin/main'],
    ['is published from a clone that has no origin/main', '', '', ''],
  ])('a commit %s', (_, main, inActions, said) => {
    clone.edit('package.json', (text) =>
      text.replace('"private"', '"repository": "github:owner/name",\n  "private"'),
    )
    clone.commit()
    clone.git('tag', '--force', `v${VERSION}`)
    clone.git('update-ref', '-d', 'refs/remotes/origin/main')
    if (main !== '') clone.git('update-ref', 'refs/remotes/origin/main', main)
    const env = { GITHUB_ACTIONS: inActions, GITHUB_REF_TYPE: '', GITHUB_REF_NAME: '' }
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    try {
      const { refused, said: all } = clone.check('--for-publishing')
      expect(refused).toBe(said !== '')
      expect(all).toContain(said)
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test.each(['https://example.org/weir', 'weir', 'gitlab:owner/name'])(
    '%s is no answer',
    (given) => {
      clone.edit('package.json', (text) =>
        text.replace('"private"', `"repository": "${given}",\n  "private"`),
      )
      clone.commit()
      expect(clone.check().said).toContain(`repository is "${given}"; write "repository": "github:`)
    },
  )
})

describe('a changed public type', () => {
  test('without a changeset is refused, and the message names the package and the commands', () => {
    clone.edit(REPORT, (text) => text.replace('export', 'export declare'))
    clone.commit()
    const { refused, said } = clone.check()
    expect(refused).toBe(true)
    expect(said).toMatch(
      /^release refused: public types of @weir\/express have changed since v9.0.0, /,
    )
    expect(said).toMatch(/git diff v9.0.0 -- packages\/express\/api.*: npx pnpm@12 changeset\n$/)
  })

  test('is refused with a changeset that names only another package', () => {
    clone.edit(REPORT, (text) => text.replace('export', 'export declare'))
    clone.write('.changeset/other.md', changeset('@weir/koa'))
    clone.commit()
    expect(clone.check().refused).toBe(true)
  })

  test('is allowed with a changeset that names its package', () => {
    clone.edit(REPORT, (text) => text.replace('export', 'export declare'))
    clone.write('.changeset/own.md', changeset('@weir/express'))
    clone.commit()
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })

  test('in a pull request needs a changeset of that pull request, whatever else is pending', () => {
    clone.write('.changeset/earlier.md', changeset('@weir/express'))
    clone.commit()
    clone.git('branch', '--force', 'target')
    clone.edit(REPORT, (text) => text.replace('export', 'export declare'))
    clone.commit()
    const ask = () => refusals(clone.folder, { forPublishing: false, onto: 'target' })
    expect(ask()).toEqual([expect.stringMatching(/^public types of @weir\/express have changed/)])
    clone.write('.changeset/own.md', changeset('@weir/express'))
    clone.commit()
    expect(ask()).toEqual([])
  })
})

describe('what a kernel stores', () => {
  const stored = (text: string) => text.replace(/\["691200003436572"\]/, '["7"]')

  test('may not change while its id stays, and the message says to give it a new one', () => {
    clone.edit(RECORD, stored)
    clone.commit()
    const { refused, said } = clone.check()
    expect(refused).toBe(true)
    expect(said).toMatch(
      /^release refused: what kernel bucket1 stores \(token bucket\) has changed/,
    )
    expect(said).toContain('give the kernel a new id')
  })

  test('may change with its id', () => {
    clone.edit(RECORD, (text) => stored(text).replaceAll('"bucket1 ', '"bucket2 '))
    clone.edit('packages/core/src/algorithms/bucket/kernel.ts', (text) => {
      return text.replace("id: 'bucket1'", "id: 'bucket2'")
    })
    clone.commit()
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })

  test('may not leave the record while its id stays', () => {
    clone.edit(RECORD, (text) => text.replaceAll(/^\["log1 .*\n/gm, ''))
    clone.commit()
    expect(clone.check().said).toContain('what kernel log1 stores (sliding log) has changed')
  })

  test('may be recorded at more length, and give other answers', () => {
    clone.edit(RECORD, (text) => {
      const [first = ''] = text.split('\n')
      const [label, mode, cost, atMs, , , held] = JSON.parse(first)
      return text.replace(first, JSON.stringify([label, mode, cost, atMs, 0, [], held])) + first
    })
    clone.commit()
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })
})

test('without a section for its version in a changelog it is refused', () => {
  clone.write('packages/koa/CHANGELOG.md', '# @weir/koa\n\n## 8.0.0\n')
  clone.commit()
  expect(clone.check().said).toMatch(
    /^release refused: packages\/koa\/CHANGELOG.md has no section "## 9.0.0": write what has changed/,
  )
})

test('publishing is refused with pending changesets, and off the tag of its version', () => {
  clone.write('.changeset/own.md', changeset('@weir/express'))
  clone.commit()
  const { said } = clone.check('--for-publishing')
  expect(said).toContain('1 changesets are pending: merge the version pull request first')
  expect(said).toContain('links lead to the tag v9.0.0, which is not this commit: git tag v9.0.0')
})

test('in a clone without history it is refused, and the message says how to get the history', () => {
  clone.git('clone', '--quiet', '--depth', '1', `file://${clone.folder}`, 'shallow')
  expect(refusals(`${clone.folder}/shallow`, { forPublishing: false, onto: undefined })).toEqual([
    'this clone has no history to compare with: git fetch --unshallow --tags',
  ])
})

test('if no version is tagged, the comparison is with the commit that raised it', () => {
  clone.git('tag', '--delete', `v${VERSION}`)
  clone.edit(RECORD, (text) => text.replaceAll(/^\["log1 .*\n/gm, ''))
  clone.edit(REPORT, () => '')
  clone.commit()
  const { said } = clone.check()
  expect(said).toMatch(/public types of @weir\/express have changed since [0-9a-f]{7,}, and no/)
  expect(said).toMatch(/what kernel log1 stores \(sliding log\) has changed since [0-9a-f]{7,}:/)
})

/** Raises the version of all packages, as the version pull request does. */
function raise(): void {
  for (const name of [
    'compat',
    'core',
    'dashboard',
    'express',
    'koa',
    'metrics',
    'nest',
    'simulate',
  ]) {
    clone.edit(`packages/${name}/package.json`, (text) => text.replace(VERSION, '9.1.0'))
    clone.write(`packages/${name}/CHANGELOG.md`, '# It\n\n## 9.1.0\n')
  }
  rmSync(join(clone.folder, '.changeset/own.md'), { force: true })
}

describe('between the last tag and a version that is raised', () => {
  test('a changed type that no changeset named is still refused after the version is raised', () => {
    clone.edit(REPORT, () => '')
    clone.write('.changeset/own.md', changeset('@weir/koa'))
    clone.commit()
    raise()
    clone.commit()
    expect(clone.check().said).toMatch(
      /^release refused: public types of @weir\/express have changed since v9.0.0, .*\n$/,
    )
    clone.write('.changeset/own.md', changeset('@weir/express'))
    clone.commit()
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })

  test('a changed type is allowed if the changeset that named it is part of the version', () => {
    clone.edit(REPORT, () => '')
    clone.write('.changeset/own.md', changeset('@weir/express'))
    clone.commit()
    raise()
    clone.commit()
    expect(clone.check().said).toBe('release: nothing is in its way\n')
  })

  test('changes after the raise are compared as well, whatever the version contains', () => {
    clone.edit(REPORT, () => '')
    clone.write('.changeset/own.md', changeset('@weir/express'))
    clone.commit()
    raise()
    clone.commit()
    clone.edit(REPORT, () => 'more')
    clone.commit()
    expect(clone.check().said).toMatch(
      /^release refused: public types of @weir\/express have changed since [0-9a-f]{7,}, .*\n$/,
    )
  })
})

test('a record without ids of kernels is compared by the names of algorithms, and an unknown name is refused', () => {
  clone.edit(RECORD, (text) => text.replaceAll('"bucket1 gcra"', '"gcra"'))
  clone.commit()
  clone.git('tag', '--force', `v${VERSION}`)
  clone.edit(RECORD, (text) => text.replaceAll('"gcra"', '"bucket1 gcra"'))
  clone.commit()
  const changed = () => changedStateForms(clone.folder, `v${VERSION}`)
  expect(changed()).toEqual([])
  const CELL = /^(\["bucket1 gcra".*\[")\d+/m
  clone.edit(RECORD, (text) => text.replace(CELL, '$17'))
  expect(changed()).toEqual(['bucket1 gcra'])
  clone.edit(RECORD, (text) => text.replaceAll('"bucket1 gcra"', '"bucket1 other"'))
  expect(changed).toThrow('stored-state.jsonl had "gcra", of which nothing says now')
})

test('a tag for another version is not published', () => {
  const env = { GITHUB_REF_TYPE: 'tag', GITHUB_REF_NAME: 'v9.0.1' }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    const what = `the tag v9.0.1 is not that of the version, v${VERSION}`
    expect(clone.check('--for-publishing').said).toContain(what)
  } finally {
    vi.unstubAllEnvs()
  }
})

test('a tagged commit is compared with the release before it', () => {
  clone.edit(RECORD, () => '')
  raise()
  clone.commit()
  clone.git('tag', 'v9.1.0')
  expect(clone.check().said).toContain('what kernel bucket1 stores (gcra) has changed since v9.0.0')
})

test('this repository has the record of what its kernels store', () => {
  expect(refusals(root, { forPublishing: false, onto: undefined }).join()).not.toContain('kernel')
})
