// The pull request of the next version is what the pending changesets make of the packages.

import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gitLines } from '../git.mjs'
import { notesOf } from '../notes.mjs'
import { releasedClone, root } from './clone.js'

test('its branch has the next version of all packages and its changelog, and no changeset', () => {
  const clone = releasedClone()
  symlinkSync(join(root, 'node_modules'), join(clone.folder, 'node_modules'))
  clone.write('.git/info/exclude', 'node_modules\n')
  clone.write('.changeset/new.md', '---\n"@weir/koa": minor\n---\n\nWhat is new.\n')
  clone.git('add', '.changeset')
  clone.git('commit', '--quiet', '--message', 'new')
  const { status, stdout, stderr } = versionPullRequest(clone.folder)
  expect([status, stderr.replaceAll(/🦋.*\n/g, '')]).toEqual([0, ''])
  expect(stdout).toContain('next-version has 9.1.0, of 1 changesets')
  const changed = gitLines(clone.folder, 'show', '--format=%s%n%an', '--name-only', 'next-version')
  expect(changed).toEqual([
    'release: 9.1.0',
    'github-actions[bot]',
    '.changeset/new.md',
    ...['core', 'express', 'koa', 'metrics', 'nest'].flatMap((name) => [
      `packages/${name}/CHANGELOG.md`,
      `packages/${name}/package.json`,
    ]),
  ])
  expect(notesOf(clone.read('packages/koa/CHANGELOG.md'), '9.1.0')).toContain('What is new.')
  expect(clone.check().said).toBe('release: nothing is in its way\n')
})

test('without a changeset there is none', () => {
  const clone = releasedClone()
  expect(versionPullRequest(clone.folder).stdout).toBe('no changeset is pending\n')
})

function versionPullRequest(
  cwd: string,
): ReturnType<typeof spawnSync> & { stdout: string; stderr: string } {
  const script = join(root, 'internal/release/version-pull-request.mjs')
  return spawnSync('node', [script, '--local'], { cwd, encoding: 'utf8' })
}

test('the notes of a version are its section of the changelog', () => {
  const changelog = '# @weir/core\n\n## 0.3.0\n\n### New\n\n- a\n\n## 0.2.0\n\n- b\n'
  expect(notesOf(changelog, '0.3.0')).toBe('### New\n\n- a')
  expect(notesOf(changelog, '0.2.0')).toBe('- b')
  expect(() => notesOf(changelog, '0.1.0')).toThrow('the changelog says nothing of 0.1.0')
})
