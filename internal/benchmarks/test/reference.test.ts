import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

test('if a commit is missing, the command says how to fetch it', () => {
  const clone = mkdtempSync(join(tmpdir(), 'weir-reference-'))
  onTestFinished(() => rmSync(clone, { recursive: true, force: true }))
  execFileSync('git', ['init', '--quiet'], { cwd: clone })
  cpSync(
    new URL('../../../tools/reference.mjs', import.meta.url),
    join(clone, 'tools/reference.mjs'),
  )
  const { status, stderr } = spawnSync(process.execPath, ['tools/reference.mjs'], {
    cwd: clone,
    encoding: 'utf8',
  })
  expect(stderr).toMatch(/^weir: commit 2d54f0d is not in this clone\. .* git fetch --unshallow\n$/)
  expect(status).toBe(1)
})
