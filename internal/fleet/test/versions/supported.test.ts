// docs/versions.md agrees with the packages and the scripts.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
// @ts-expect-error: a tool, in JavaScript
import { IOREDIS, NODES } from '../../../../scripts/supported.mjs'
import { root } from '../../src/places/places.js'
import { kernelsOf } from '../../src/versions/version.js'
import { present } from './versions.js'

interface Manifest {
  readonly engines: { readonly node: string }
  readonly peerDependencies?: Readonly<Record<string, string>>
}

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(textOf(`${folder}/package.json`)) as Manifest
}

const document = textOf('docs/versions.md')
const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)

/** The rows of the table under a heading, cell by cell. */
function tableUnder(heading: string): string[][] {
  const [, part = ''] = document.split(`\n${heading}\n`)
  const [section = ''] = part.split(/\n##+ /)
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((line) => {
    const cells = line.replaceAll('\\|', '\0').split('|').slice(1, -1)
    return cells.map((cell) => cell.replaceAll('\0', '|').trim())
  })
}

const runsOn = tableUnder('## What it runs on')
const rowOf = (name: string) => runsOn.find(([first]) => first === name) ?? []

test('the versions of frameworks and clients are those in the packages', () => {
  const peers = packages.flatMap((folder) =>
    Object.entries(manifestOf(folder).peerDependencies ?? {}),
  )
  const documented = runsOn.flatMap(([names = '', range = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => [name, range.replaceAll('`', '')]),
  )
  const unique = new Map(peers)
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(unique))
  for (const [name, range] of peers) expect([name, range]).toEqual([name, unique.get(name)])
})

test('the versions of Node.js are those that CI runs, and that all packages require', () => {
  const [, least = '', words = ''] = rowOf('Node.js')
  const [first, ...others] = NODES as readonly string[]
  expect(words).toContain(`${others.slice(0, -1).join(', ')} and ${others.at(-1)} are supported`)
  expect(words).toContain(`${first} is past its end`)
  const engines = ['.', ...packages].map((folder) => manifestOf(folder).engines.node)
  expect([...new Set(engines)]).toEqual([`>=${least.replace(' or newer', '.0')}`])
  expect(least.startsWith(`${first}.`)).toBe(true)
})

const workflow = join(root, '.github/workflows/ci.yml')

test.skipIf(!existsSync(workflow))('the CI workflow runs on these versions of Node.js', () => {
  const [, listed = ''] = /^\s+node: \[(.*)\]$/m.exec(readFileSync(workflow, 'utf8')) ?? []
  expect(listed.split(', ')).toEqual(NODES)
})

test('the majors of ioredis that CI runs are all that core supports', () => {
  const [, range = ''] = rowOf('`ioredis`')
  const majors = [...range.matchAll(/\^(\d+)\./g)].map(([, major]) => major)
  expect(majors.sort()).toEqual([...(IOREDIS as readonly string[])].sort())
})

test('the oldest Redis is the one that docs/redis.md names', () => {
  const [, least = ''] = rowOf('Redis')
  expect(textOf('docs/redis.md')).toContain(`Weir needs Redis ${least}, or Valkey.`)
})

test('the ids of kernels are those in the code', () => {
  const documented = tableUnder('### Ids of kernels').map(([name, id]) => [name, id])
  const inCode = [...kernelsOf(present)].map(([name, id]) => [name, `\`${id}\``])
  expect(documented.sort()).toEqual(inCode.sort())
  const folders = readdirSync(join(root, 'packages/core/src/algorithms'), { withFileTypes: true })
  const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  expect([...kernelsOf(present).keys()].sort()).toEqual(names.sort())
})

test('what is called experimental is marked so in types, and nothing else is', () => {
  const documented = tableUnder('## What is experimental').flatMap(([, names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  const marked = packages.flatMap((folder) => {
    const files = readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' })
    const sources = files.filter((file) => file.endsWith('.ts'))
    return sources.flatMap((file) => {
      const text = textOf(`${folder}/src/${file}`)
      const found = text.matchAll(
        /\* @experimental\n(?: \*.*\n)* \*\/\nexport \w+ (\w+)|(@experimental)/g,
      )
      return [...found].map(([, name]) => name ?? `a mark in ${file} that is on no export`)
    })
  })
  expect([...new Set(marked)].sort()).toEqual([...new Set(documented)].sort())
  expect(new Set(documented).size).toBe(documented.length)
})
