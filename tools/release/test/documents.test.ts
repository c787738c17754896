// The links in the repository's documents lead somewhere.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesLinkedIn } from '../links.mjs'
import { anchorsIn, linksIn } from '../markdown.mjs'
import { root } from './root.js'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const MADE = /^(packages\/\w+\/api\/|\.changeset\/)/
const tracked = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
const documents = tracked.split('\n').filter((path) => path !== '' && !MADE.test(path))

/** Links that lead nowhere. */
function brokenIn(document: string): string[] {
  const text = read(document)
  const own = linksIn(text).filter((target) => target.startsWith('#'))
  const others = filesLinkedIn(text, document)
  return [
    ...own.filter((target) => !anchorsIn(text).has(target.slice(1))),
    ...others.map(({ file, anchor }) => file + anchor).filter((target) => !isThere(target)),
  ]
}

function isThere(target: string): boolean {
  const [path = '', anchor] = target.split('#')
  if (!existsSync(join(root, path))) return false
  return anchor === undefined || !path.endsWith('.md') || anchorsIn(read(path)).has(anchor)
}

test.each(documents)('the links of %s lead somewhere', (document) => {
  expect(brokenIn(document)).toEqual([])
})
