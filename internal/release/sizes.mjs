// How large the packages are: measured on the tarballs, and written into the page for those who
// approve dependencies.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'

const START = '<!-- sizes:start -->'
const END = '<!-- sizes:end -->'
/** What is written may be off by so much before it has to be written anew. */
const ROOM = 0.05

/**
 * @typedef {object} Size
 * @property {string} name
 * @property {number} packedBytes
 * @property {number} unpackedBytes
 * @property {number} files
 */

/**
 * @param {string} name
 * @param {string} tarball
 * @returns {Size}
 */
export function sizeOf(name, tarball) {
  const listed = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' })
  const bytes = listed
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split(/\s+/)[2]))
  const unpackedBytes = bytes.reduce((sum, each) => sum + each, 0)
  return { name, packedBytes: statSync(tarball).size, unpackedBytes, files: bytes.length }
}

/**
 * @param {string} page
 * @param {readonly Size[]} sizes
 * @returns {string} the page, with its table of these sizes
 */
export function withSizes(page, sizes) {
  const rows = sizes.map(({ name, packedBytes, unpackedBytes, files }) => {
    return `| \`${name}\` | ${kilobytes(packedBytes)} | ${kilobytes(unpackedBytes)} | ${files} |`
  })
  const head = ['| package | download, kB | unpacked, kB | files |', '|---|---|---|---|']
  const [before = '', rest = ''] = page.split(START)
  const [, after = ''] = rest.split(END)
  return `${before}${START}\n${[...head, ...rows].join('\n')}\n${END}${after}`
}

/**
 * @param {string} page
 * @param {readonly Size[]} sizes
 * @returns {string[]} the packages of which the page says something else
 */
export function wrongSizes(page, sizes) {
  return sizes
    .filter(({ name, packedBytes, unpackedBytes, files }) => {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
      const [, , ...cells] = row.split('|').map((cell) => Number(cell))
      const measured = [packedBytes / 1_000, unpackedBytes / 1_000, files]
      // Rounding moves a small number by more than the room.
      return !measured.every((each, i) => Math.abs((cells[i] ?? 0) - each) <= each * ROOM + 1)
    })
    .map(({ name }) => name)
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return Math.round(bytes / 1_000)
}
