// What CONTRIBUTING.md says is true: paths exist, commits are in the history, lists are complete.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHANGE, stepOf } from '../../../scripts/ci/steps.mjs'
import { git, gitLines } from '../git.mjs'
import { jobsOf, workflowsIn } from '../workflows/read.mjs'
import { root } from './root.js'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const guide = read('CONTRIBUTING.md')
const [, touched = ''] = guide.split('\n## What a new part touches\n')
const sections = Object.fromEntries(
  (touched.split('\n## ')[0] ?? '')
    .split('\n### ')
    .slice(1)
    .map((section) => [section.split('\n')[0] ?? '', section]),
)
/** The paths in the first column of a table. */
function pathsIn(section: string): string[] {
  const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path))
}

describe.each(Object.entries(sections))('%s', (_, section) => {
  test('names commits of this history', () => {
    const commits = [...section.matchAll(/`([0-9a-f]{8})`/g)].map(([, commit = '']) => commit)
    expect(commits.length).toBeGreaterThan(0)
    for (const commit of commits) git(root, 'merge-base', '--is-ancestor', commit, 'HEAD')
  })

  test('names files that exist', () => {
    const paths = pathsIn(section).filter((path) => !path.includes('NAME'))
    expect(paths.length).toBeGreaterThan(1)
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

test('the table of the rooms of core, and their picture, have all of them, and no others', () => {
  const [, table = ''] = guide.split('`packages/core/src`, from the ground up:')
  const there = readdirSync(join(root, 'packages/core/src')).filter((name) => name !== 'index.ts')
  expect(pathsIn(table.split('\n\n')[1] ?? '').sort()).toEqual(there.sort())
  const rooms = there.map((name) => name.replace('.ts', ''))
  const names = inPicture('name').flatMap((text) => text.split(', '))
  expect(names.filter((name) => /^[a-z-]+$/.test(name)).sort()).toEqual(rooms.sort())
})

test('the picture has all packages', () => {
  const there = readdirSync(join(root, 'packages')).filter((name) => name !== 'core')
  expect(inPicture('member')).toEqual(there.sort())
})

function inPicture(kind: string): string[] {
  const texts = read('docs/images/architecture.svg').matchAll(/class="(\w+)"[^>]*>([^<]+)</g)
  return [...texts].filter(([, name]) => name === kind).map(([, , text = '']) => text)
}

/** Whether a list of paths contains a file; a folder contains all its files. */
function names(paths: readonly string[], file: string): boolean {
  return paths.some((path) => file === path || (path.endsWith('/') && file.startsWith(path)))
}

/** The files that name an algorithm, in these places. */
function filesNaming(...places: string[]): string[] {
  const name = 'sliding-?counter|counter1'
  const how = ['--files-with-matches', '--extended-regexp', '--ignore-case']
  return gitLines(root, 'grep', ...how, name, '--', ...places)
}

describe('the list for an algorithm', () => {
  const paths = pathsIn(sections['An algorithm'] ?? '').map((path) =>
    path.replace('NAME', 'sliding-counter'),
  )
  const others = [
    // What was measured, or found to differ; comparisons of some algorithms; examples.
    'internal/benchmarks/',
    'internal/fleet/src/versions/',
    'tools/release/',
  ]

  test('has all sources that name a present one', () => {
    const naming = filesNaming('packages/*/src/*', 'internal/*/src/*', 'tools/*', 'scripts/*')
    expect(naming.length).toBeGreaterThan(5)
    expect(naming.filter((file) => !names([...paths, ...others], file))).toEqual([])
  })

  test('has no file that does not name it', () => {
    const naming = filesNaming('packages/*', 'tools/*', 'docs/*')
    expect(paths.filter((path) => !naming.some((file) => names([path], file)))).toEqual([])
  })
})

test('the list for an adapter has everything that names the Fastify adapter', () => {
  const pattern = '@weir/fastify|packages/fastify'
  const naming = gitLines(root, 'grep', '--files-with-matches', '--extended-regexp', pattern)
  const paths = pathsIn(sections['An adapter'] ?? '').map((path) => path.replace('NAME', 'fastify'))
  // Pages may link to it; comparisons with other limiters.
  const isAside = (file: string): boolean =>
    /^(README\.md|docs\/.*\.md|pnpm-lock\.yaml|\.changeset\/.*|packages\/.*\.md)$/.test(file) ||
    /^internal\/(benchmarks|behaviour\/majors\/nest12\/migration)\//.test(file)
  const own = ['CONTRIBUTING.md', 'tools/release/test/contributing.test.ts']
  expect(naming.filter((file) => !isAside(file) && !names([...paths, ...own], file))).toEqual([])
  expect(paths.length).toBeLessThanOrEqual(4)
})

test('a new client of Redis is four files', () => {
  expect(pathsIn(sections['A client of Redis'] ?? '')).toHaveLength(4)
})

describe('a development machine', () => {
  const { image, postCreateCommand } = JSON.parse(read('.devcontainer/devcontainer.json'))
  const node = read('.nvmrc').trim()

  test('has a Node version that CI runs, and so does the container', () => {
    const ci = workflowsIn(root).find(({ file }) => file.endsWith('/ci.yml'))
    const jobs = jobsOf(ci?.file ?? '', ci?.workflow)
    const nodes = jobs.map(({ steps }) => String(steps[1]?.with?.['node-version']))
    expect(nodes).toContain(node)
    expect(image).toBe(`node:${node}-bookworm`)
  })

  test('has the packages that steps of CI need', () => {
    const needed = CHANGE.flatMap((name) => Object.values(stepOf(name).needs ?? {}))
    expect(needed.length).toBeGreaterThan(0)
    for (const name of needed) expect(postCreateCommand).toContain(` ${name} `)
  })
})

test('the files that the architecture tour names exist', () => {
  const tour = read('docs/architecture.md')
  const named = [...tour.matchAll(/`((?:packages|internal|scripts|tools)\/[\w./-]+)`/g)]
  const paths = named.map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(10)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
