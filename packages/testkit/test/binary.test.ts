import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { workspaceRoot } from '../src/binary.js'

test('the root of the workspace is found from below, and from itself', () => {
  const root = join(import.meta.dirname, '..', '..', '..')
  expect(workspaceRoot(import.meta.dirname)).toBe(root)
  expect(workspaceRoot(root)).toBe(root)
})

test('outside a workspace it was looked for for ever', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-no-workspace-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  expect(() => workspaceRoot(folder)).toThrow(`no pnpm-workspace.yaml in or above ${folder}`)
  expect(() => workspaceRoot(folder)).toThrow('REDIS_SERVER_BIN')
})
