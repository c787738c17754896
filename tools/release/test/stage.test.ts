// Tarballs are staged only on a registry that knows their names. The registry is a server of the
// test; npm is real.

import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { anchorsIn } from '../markdown.mjs'
import { root } from './clone.js'

const work = mkdtempSync(join(tmpdir(), 'weir-stage-'))
const folder = join(work, 'release')
const NAMES = ['@weir-test/one', '@weir-test/two']
/** The versions of each name that the registry has. */
let published: Record<string, string[]> = {}
let staged: { path: string; name: string; tarball: string }[] = []
let isBroken = false
/** Whether the registry has other tarballs than those that were packed. */
let isOther = false
let server: Server

beforeAll(async () => {
  mkdirSync(folder)
  const sums = NAMES.map((name) => {
    const source = join(work, name)
    mkdirSync(source, { recursive: true })
    writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
    const args = ['pack', '--silent', '--pack-destination', folder]
    const file = execFileSync('npm', args, { cwd: source, encoding: 'utf8' }).trim()
    return `${sha256Of(join(folder, file))}  ${file}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const path = decodeURIComponent(request.url ?? '')
      const reply = (status: number, body: object) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      if (request.method === 'POST') {
        const { name, _attachments } = JSON.parse(Buffer.concat(chunks).toString())
        const [{ data }] = Object.values(_attachments) as [{ data: string }]
        staged.push({ path, name, tarball: data })
        return reply(201, { stageId: 'stage-1' })
      }
      if (isBroken) return reply(500, { error: 'broken' })
      const name = path.slice(1)
      const versions = published[name]
      if (versions === undefined) return reply(404, { error: 'not found' })
      const dist = { tarball: '', integrity: integrityOf(name) }
      const all = versions.map((version) => [version, { name, version, dist }])
      const tags = { latest: versions.at(-1) }
      return reply(200, { name, 'dist-tags': tags, versions: Object.fromEntries(all) })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

beforeEach(() => {
  published = {}
  staged = []
  isBroken = false
  isOther = false
})

afterAll(() => {
  server.close()
  rmSync(work, { recursive: true, force: true })
})

function tarballOf(name: string): Buffer {
  return readFileSync(join(folder, `${name.slice(1).replace('/', '-')}-1.0.0.tgz`))
}

function integrityOf(name: string): string {
  const bytes = isOther ? 'other' : tarballOf(name)
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Runs the script against the registry of the test. */
function stage(): Promise<{ code: number | null; said: string }> {
  const { port } = server.address() as AddressInfo
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    [`npm_config_//127.0.0.1:${port}/:_authToken`]: 'of-the-test',
    npm_config_cache: join(work, 'cache'),
    npm_config_fetch_retries: '0',
    // Whatever the settings of the npm that started the tests.
    npm_config_loglevel: 'notice',
  }
  const child = spawn('node', [join(root, 'tools/release/stage.mjs'), folder], { env })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (some) => {
      said += some
    })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said })))
}

test('each tarball is staged as it was packed', async () => {
  published = { [NAMES[0] as string]: ['0.9.0'], [NAMES[1] as string]: ['0.9.0'] }
  const { code, said } = await stage()
  expect(said).toContain('(staged with id stage-1)')
  expect(code).toBe(0)
  expect(staged.map(({ path }) => path)).toEqual(NAMES.map((name) => `/-/stage/package/${name}`))
  for (const { name, tarball } of staged) {
    expect(tarball).toBe(tarballOf(name).toString('base64'))
  }
})

test('a name that was never published is refused, and the message points to the remedy', async () => {
  published = { [NAMES[0] as string]: ['0.9.0'] }
  const { code, said } = await stage()
  expect(code).toBe(1)
  expect(said).toMatch(/^staging refused: never published, .*: @weir-test\/two\. Publish the first/)
  expect(staged).toEqual([])
  const [, page = '', anchor = ''] = /(docs\/\S+\.md)#(\S+)/.exec(said) ?? []
  expect([...anchorsIn(readFileSync(join(root, page), 'utf8'))]).toContain(anchor)
})

test('a version that is already published is skipped, so that a run can be repeated', async () => {
  published = { [NAMES[0] as string]: ['0.9.0', '1.0.0'], [NAMES[1] as string]: ['0.9.0'] }
  const { code, said } = await stage()
  expect(code).toBe(0)
  expect(said).toContain('@weir-test/one@1.0.0 is published already')
  expect(staged.map(({ name }) => name)).toEqual(['@weir-test/two'])
})

test('a version that was published with another tarball is refused', async () => {
  published = { [NAMES[0] as string]: ['1.0.0'], [NAMES[1] as string]: ['0.9.0'] }
  isOther = true
  const { code, said } = await stage()
  expect(code).toBe(1)
  expect(said).toMatch(/^staging refused: @weir-test\/one@1.0.0 is published, and is not /)
  expect(staged).toEqual([])
})

test('a tarball that has changed since it was packed is refused', async () => {
  published = { [NAMES[0] as string]: ['0.9.0'], [NAMES[1] as string]: ['0.9.0'] }
  const sums = join(folder, 'SHA256SUMS')
  const before = readFileSync(sums, 'utf8')
  writeFileSync(
    sums,
    before.replace(/^./, (first) => (first === '0' ? '1' : '0')),
  )
  const { code, said } = await stage()
  writeFileSync(sums, before)
  expect(code).toBe(1)
  expect(said).toMatch(/^staging refused: .*weir-test-one-1.0.0.tgz is not what was packed/)
  expect(staged).toEqual([])
})

test('an error of the registry is not taken for a missing name', async () => {
  isBroken = true
  const { code, said } = await stage()
  expect(code).toBe(1)
  expect(said).toMatch(/^staging refused: npm view /)
})
