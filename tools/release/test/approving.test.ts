// What docs/approving.md claims is true.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MOST, RECORDED } from '../../package-size.mjs'
import { publishedPackages } from '../packages.mjs'
import { jobsOf, workflowsIn } from '../workflows/read.mjs'
import { root } from './root.js'

const page = readFileSync(join(root, 'docs/approving.md'), 'utf8')
const packages = publishedPackages(root)
const answers = new Map(
  [...page.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].map(([, question = '', answer = '']) => [
    question,
    answer,
  ]),
)
const answer = (question: string): string => answers.get(question) ?? ''
/** The texts in backticks, in order. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

test('all packages are named', () => {
  const names = packages.map(({ manifest }) => manifest.name)
  expect(namesIn(answer('What is it?')).sort()).toEqual(names.sort())
})

describe.each(packages)('$manifest.name', ({ folder, manifest }) => {
  test('has the licence', () => {
    expect(manifest.license).toBe('MIT')
    expect(answer('Licence')).toMatch(/^MIT;/)
    expect(readFileSync(join(root, 'LICENSE'), 'utf8')).toMatch(/^MIT License\n/)
  })

  test('depends only on @weir/core, which depends on nothing', () => {
    const expected = manifest.name === '@weir/core' ? [] : ['@weir/core']
    expect(Object.keys(manifest.dependencies ?? {})).toEqual(expected)
    expect(manifest).not.toHaveProperty('optionalDependencies')
  })

  test('has the peer dependencies that the page names, optional where it says so', () => {
    const [needed = '', optional = ''] = answer('Peers').split('Optional: ')
    const named = namesIn(needed)
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
      const isOptional = manifest.peerDependenciesMeta?.[peer]?.optional === true
      if (isOptional && peer.startsWith('@nestjs/')) continue
      if (peer.startsWith('@nestjs/')) expect(needed).toContain('Nest')
      else expect(isOptional ? namesIn(optional) : named).toContain(peer)
    }
  })

  test('runs on the Node versions that the page names, and has no install script', () => {
    const scripts = (manifest as { scripts?: Record<string, string> }).scripts ?? {}
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(scripts).not.toHaveProperty(name)
    expect(manifest.engines?.node).toBe('>=20.19.0')
    expect(answer('Runs on')).toMatch(/^Node.js 20.19 or newer;/)
    expect(existsSync(join(root, folder, 'binding.gyp'))).toBe(false)
  })

  test('asks for provenance', () => {
    expect(manifest.publishConfig).toEqual({ access: 'public', provenance: true })
  })

  test('opens no connection, touches no file, starts no process and evaluates no text', () => {
    const dist = join(root, folder, 'dist')
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => {
      return /\.[cm]?js$/.test(file)
    })
    expect(files.length).toBeGreaterThan(0)
    const isOfFiles = manifest.name === '@weir/simulate'
    const found = files.flatMap((file) => {
      const text = readFileSync(join(dist, file), 'utf8')
      const code = text.replace(/^\s*(\/\/|\/?\*).*$/gm, '').replace(PAGE, '""')
      const ways = [...code.matchAll(FORBIDDEN)].map(([what]) => what)
      const others = ways.filter(
        (what) => !isOfFiles || !/["'](node:)?(fs|fs\/promises|child_process)["']$/.test(what),
      )
      return others.map((what) => `${file}: ${what}`)
    })
    expect(found).toEqual([])
  })
})

/** Code that reaches out of the process. */
const FORBIDDEN =
  /(\bfrom|\bimport|\brequire|getBuiltinModule)[\s(?.]*["'](node:)?(fs|fs\/promises|child_process|net|tls|dgram|dns|http|https|http2|vm|worker_threads|inspector)["']|\beval\(|\bnew Function\(|\bfetch\(/g

/** The page that @weir/dashboard sends to browsers, whose policy allows only its own server. */
const PAGE = /"(?:[^"\\]|\\.){5000,}"/g

test('a workflow stages what is published, with the identity that signs the provenance', () => {
  const publish = workflowsIn(root).find(({ file }) => file.endsWith('publish.yml'))
  const jobs = jobsOf(publish?.file ?? '', publish?.workflow)
  const stage = jobs.find(({ id }) => id === 'publish/stage')
  expect(stage?.source.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
  expect(publish?.text).not.toContain('secrets.')
})

test('the security contact is the one in SECURITY.md', () => {
  const security = readFileSync(join(root, 'SECURITY.md'), 'utf8').replaceAll('\n', ' ')
  expect(security).toContain("privately through the repository's security advisories")
  expect(security).toContain('a reply within a week')
  expect(answer('Security contact')).toContain('security advisories; a reply within a week')
})

test('the table has the sizes that CI enforces', () => {
  for (const [name, { code, files }] of Object.entries(RECORDED))
    expect(page).toContain(`\n| \`${name}\` | ${Math.round(code / 1_000)} | ${files} |\n`)
  expect(Object.keys(RECORDED).sort()).toEqual(packages.map(({ manifest }) => manifest.name).sort())
  expect(page.replaceAll('\n', ' ')).toContain('over 1.2 MB, documents included, or 70 files')
  expect(MOST).toEqual({ files: 70, bytes: 1_200_000 })
})
