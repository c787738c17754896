// The installed size of each package, and its limits. The size of the code may differ by 5 % from
// the recorded one; beyond that, somebody finds out why, and records the new size. Documents grow
// with each changelog, and with longer links once the address of the project is known, so they
// count only towards the limit that no package may exceed.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publishedPackages } from './release/packages.mjs'

const ROOM = 0.05

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * What each package records in `api/size.json`, in the form that `npm run package:check` prints.
 * @type {Record<string, { files: number, code: number }>}
 */
export const RECORDED = Object.fromEntries(
  publishedPackages(root).flatMap(({ folder, manifest }) => {
    const file = join(root, folder, 'api/size.json')
    return existsSync(file) ? [[manifest.name, JSON.parse(readFileSync(file, 'utf8'))]] : []
  }),
)

/**
 * The limit for each package, whatever is recorded.
 * @type {{ files: number, bytes: number }}
 */
export const MOST = { files: 70, bytes: 1_200_000 }

/** The bytes of all files, and of those that are not documents.
 * @typedef {{ files: number, bytes: number, code: number }} Size */

const DOCUMENT = /\.md$|\/LICENSE$|^package\/package\.json$/

/**
 * @param {string} tarball
 * @returns {Size} of its unpacked content
 */
export function sizeOf(tarball) {
  const listed = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' }).trimEnd().split('\n')
  const files = listed.map((line) => {
    const [, , bytes, , , path = ''] = line.split(/\s+/)
    return { bytes: Number(bytes), isCode: !DOCUMENT.test(path) }
  })
  const sum = (/** @type {typeof files} */ some) => some.reduce((all, { bytes }) => all + bytes, 0)
  return { files: files.length, bytes: sum(files), code: sum(files.filter((one) => one.isCode)) }
}

/**
 * @param {string} name of a package
 * @param {Size} size
 * @param {{ files: number, code: number } | undefined} recorded
 * @returns {string} how large it is
 * @throws {Error} if it is too large, or the size of its code differs from what is recorded
 */
export function judgeSize(name, size, recorded = RECORDED[name]) {
  const { files, bytes, code } = size
  const line = `${name}: ${files} files, ${bytes} bytes, of which ${code} bytes of code`
  if (bytes > MOST.bytes)
    throw new Error(`${line}: at most ${MOST.bytes} bytes; publish less of it`)
  if (files > MOST.files)
    throw new Error(`${line}: at most ${MOST.files} files; publish less of it`)
  if (recorded === undefined) throw new Error(`${line}: ${WHERE} has nothing; ${WRITE}`)
  if (isOff(files, recorded.files))
    throw new Error(`${line}: ${WHERE} has ${recorded.files} files; ${WRITE}`)
  if (isOff(code, recorded.code))
    throw new Error(`${line}: ${WHERE} has ${recorded.code} bytes of code; ${WRITE}`)
  return line
}

const WHERE = 'api/size.json'
const WRITE = 'if the change is meant, write it there'

/**
 * One file more is no surprise when there are few files.
 * @param {number} size
 * @param {number} recorded
 */
function isOff(size, recorded) {
  return Math.abs(size - recorded) > Math.max(1, ROOM * recorded)
}
