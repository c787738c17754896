// Documents describe what exists and what was measured, and the reference matches the source.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.js'

test('the tests that SECURITY.md names exist', () => {
  const named = [...readFileSync(join(root, 'SECURITY.md'), 'utf8').matchAll(/`([\w.-]+\.ts)`/g)]
  const { stdout } = spawnSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' })
  const files = stdout.split('\n')
  expect(named.length).toBeGreaterThan(4)
  for (const [, name] of named)
    expect([name, files.some((file) => file.endsWith(`/${name}`))]).toEqual([name, true])
})

test.each([
  ['docs/reference', 'what the comments in the source say', 'reference.mjs'],
  ['docs/images', 'what runs show', 'pictures.mjs'],
])('%s is %s', (_, __, tool) => {
  const args = [join(root, 'tools/docs', tool), '--check']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
