// The links in a packed package's messages and documents lead somewhere, before and after its owner
// has set the address of the project.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { judgeSize, type Size, sizeOf } from '../../package-size.mjs'
import { brokenLinks } from '../check-links.mjs'
import { packAll } from '../pack.mjs'
import { publishedPackages } from '../packages.mjs'
import { root } from './root.js'

const URL = 'https://github.com/owner/name'
const work = mkdtempSync(join(tmpdir(), 'weir-packed-'))
afterAll(() => rmSync(work, { recursive: true, force: true }))

const sizes: [string, Size][] = []

/** Packs all packages and unpacks them under a folder of this name. */
function unpacked(name: string, url: string | undefined): void {
  for (const { manifest, tarball } of packAll(root, work, { url })) {
    sizes.push([manifest.name, sizeOf(tarball)])
    const folder = folderOf(name, manifest.name)
    execFileSync('mkdir', ['-p', folder])
    execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
  }
}

const names = publishedPackages(root).map(({ manifest }) => manifest.name)
const version = publishedPackages(root)[0]?.manifest.version
const folderOf = (where: string, name: string): string => join(work, where, 'node_modules', name)
const read = (where: string, name: string, path: string): string =>
  readFileSync(join(folderOf(where, name), path), 'utf8')

const WHERE = [
  ['nowhere', undefined],
  ['somewhere', URL],
] as const

beforeAll(() => {
  for (const [where, url] of WHERE) unpacked(where, url)
})

test('no package exceeds its size, wherever the project lives', () => {
  expect(sizes.length).toBe(WHERE.length * names.length)
  for (const [name, size] of sizes) expect(judgeSize(name, size)).toContain(`${name}: `)
})

describe.each(WHERE)('of a project that lives %s', (where, url) => {
  test.each(names)('%s holds its documents, and all its links lead somewhere', (name) => {
    const folder = folderOf(where, name)
    for (const file of ['README.md', 'LICENSE', 'package.json'])
      expect(existsSync(join(folder, file))).toBe(true)
    expect(brokenLinks(folder, root, url)).toEqual([])
  })

  test('a message names a page that its reader can open', () => {
    const cwd = join(work, where)
    const code = "require('@weir/core').slidingWindow({ limit: -1, window: '1m' })"
    const { stderr } = spawnSync('node', ['--eval', code], { cwd, encoding: 'utf8' })
    const base = url === undefined ? 'node_modules/@weir/core' : `${URL}/blob/v${version}`
    expect(stderr).toContain(`(see ${base}/docs/errors.md#weir_invalid_policy)`)
    expect(existsSync(join(folderOf(where, '@weir/core'), 'docs/errors.md'))).toBe(true)
  })

  test('alerts name the page that says what to do', () => {
    const rules = read(where, '@weir/metrics', 'alerts/weir.rules.yml')
    const base = url === undefined ? 'node_modules/@weir/metrics' : `${URL}/blob/v${version}`
    expect(rules).toContain(`runbook_url: ${base}/docs/operating.md#weirdegraded\n`)
    expect(rules).not.toMatch(/runbook_url: docs/)
  })

  test.each(names)('%s states what it needs, and nothing about how it was made', (name) => {
    const manifest = JSON.parse(read(where, name, 'package.json'))
    expect(manifest).not.toHaveProperty('devDependencies')
    expect(manifest).not.toHaveProperty('scripts')
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|catalog:/)
    for (const field of ['repository', 'homepage', 'bugs'])
      expect(manifest[field] === undefined).toBe(url === undefined)
  })
})

test('when the address is set, a README links to the documents of its version', () => {
  const readme = read('somewhere', '@weir/koa', 'README.md')
  expect(readme).toContain(`(${URL}/blob/v${version}/docs/behind-a-proxy.md)`)
  expect(readme).toContain(`(${URL}/blob/v${version}/packages/express/README.md)`)
})

test('a command stays executable', () => {
  const { bin } = JSON.parse(read('nowhere', '@weir/core', 'package.json'))
  execFileSync('test', ['-x', join(folderOf('nowhere', '@weir/core'), bin.weir)])
})
