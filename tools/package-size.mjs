// How large the packages are once they are installed, and how large they may become. A package may
// be 5 % off what is recorded here; beyond that, somebody looks at why, and records it anew.
import { execFileSync } from 'node:child_process'

const ROOM = 0.05

/**
 * As `npm run package:check` prints them.
 * @type {Record<string, Size>}
 */
export const RECORDED = {
  '@weir/core': { files: 40, bytes: 987_100 },
  '@weir/express': { files: 12, bytes: 26_000 },
  '@weir/koa': { files: 12, bytes: 19_700 },
  '@weir/metrics': { files: 31, bytes: 172_600 },
  '@weir/nest': { files: 13, bytes: 165_000 },
}

/**
 * What no package exceeds, whatever is recorded.
 * @type {Size}
 */
export const MOST = { files: 60, bytes: 1_000_000 }

/** @typedef {{ files: number, bytes: number }} Size */

/**
 * @param {string} tarball
 * @returns {Size} of what it unpacks to
 */
export function sizeOf(tarball) {
  const listed = execFileSync('tar', ['-tvzf', tarball], { encoding: 'utf8' }).trimEnd().split('\n')
  const bytes = listed.map((line) => Number(line.split(/\s+/)[2]))
  return { files: bytes.length, bytes: bytes.reduce((sum, each) => sum + each, 0) }
}

/**
 * @param {string} name of a package
 * @param {Size} size
 * @param {Size | undefined} recorded
 * @returns {string} how large it is
 * @throws {Error} if it is too large, or another size than what is recorded
 */
export function judgeSize(name, size, recorded = RECORDED[name]) {
  const line = `${name}: ${size.files} files, ${size.bytes} bytes`
  const units = /** @type {(keyof Size)[]} */ (Object.keys(MOST))
  const over = units.filter((unit) => size[unit] > MOST[unit])
  const [unit] = over
  if (unit !== undefined) {
    throw new Error(`${line}: at most ${MOST[unit]} ${unit}; publish less of it`)
  }
  const off = units.find((unit) => {
    // Of few files, one more is no surprise.
    const expected = recorded?.[unit] ?? Number.NaN
    return !(Math.abs(size[unit] - expected) <= Math.max(1, ROOM * expected))
  })
  if (off === undefined) return line
  const expected = recorded === undefined ? 'nothing' : `${recorded[off]} ${off}`
  throw new Error(
    `${line}: tools/package-size.mjs has ${expected}; if the change is meant, write it there`,
  )
}
