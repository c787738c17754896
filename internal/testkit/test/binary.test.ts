import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageFolder } from '../src/binary.js'

test('the folder of the kit is found from a folder below it, and from itself', () => {
  const folder = join(import.meta.dirname, '..')
  expect(packageFolder(import.meta.dirname)).toBe(folder)
  expect(packageFolder(folder)).toBe(folder)
})

test('outside the kit, the search fails with an error that names the remedy', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-elsewhere-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  expect(() => packageFolder(folder)).toThrow(`no servers/redis.mjs in or above ${folder}`)
  expect(() => packageFolder(folder)).toThrow('REDIS_SERVER_BIN')
})
