// What each kernel stores, as the tests of core have recorded it. During an update of a fleet,
// processes of two versions share the same keys, and a kernel's id is part of the key. So what is
// stored under an id must stay as it was released.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileAt, gitLines } from './git.mjs'

const RECORD = 'packages/core/test/redis/stored-state.jsonl'
const KERNELS = 'packages/core/src/algorithms'

/**
 * The kernels that store something else than in a commit, under the same id.
 * @param {string} root
 * @param {string} base
 * @returns {string[]} each with its algorithm, such as `bucket1 gcra`
 */
export function changedStateForms(root, base) {
  const before = fileAt(root, base, RECORD)
  if (before === undefined) return []
  const now = linesByKernel(readFileSync(join(root, RECORD), 'utf8'))
  const ids = kernelIds(root)
  return Object.entries(linesByKernel(before))
    .map(([label, lines]) => ({ label: labelled(label, now), lines }))
    .filter(({ label }) => (label.split(' ')[0] ?? '').split('+').every((id) => ids.has(id)))
    .filter(({ label, lines }) => {
      // A record may become longer, since it then still contains all that it did before.
      const same = (now[label] ?? []).slice(0, lines.length)
      return same.join('\n') !== lines.join('\n')
    })
    .map(({ label }) => label)
}

/** Labels that begin with the ids of kernels, such as `fixed1+log1`. */
const WITH_IDS = /^\w+\d(\+\w+\d)* /

/**
 * Version 0.2.0 recorded its kernels without their ids, which were the present ones.
 * @param {string} label
 * @param {Record<string, unknown>} now
 * @returns {string}
 * @throws {Error} if no present kernel has that name
 */
function labelled(label, now) {
  if (WITH_IDS.test(label)) return label
  const found = Object.keys(now).find((each) => each.replace(WITH_IDS, '') === label)
  if (found !== undefined) return found
  throw new Error(`${RECORD} had "${label}", of which nothing says now which kernel that is`)
}

/**
 * The requests and what was stored after them, without the answers, by kernel ids and algorithm.
 * @param {string} text
 */
function linesByKernel(text) {
  /** @type {Record<string, string[]>} */
  const lines = {}
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [label, mode, cost, atMs, , , stored] = JSON.parse(line)
    lines[label] ??= []
    lines[label].push(JSON.stringify([mode, cost, atMs, stored]))
  }
  return lines
}

/**
 * @param {string} root
 * @returns {Set<string>} the ids in the present sources
 */
function kernelIds(root) {
  const files = gitLines(root, 'ls-files', `${KERNELS}/*/kernel.ts`)
  const ids = files.flatMap((file) => {
    const [, id] = /^ {2}id: '(\w+)',$/m.exec(readFileSync(join(root, file), 'utf8')) ?? []
    return id === undefined ? [] : [id]
  })
  return new Set(ids)
}
