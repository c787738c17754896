// @ts-check
// A challenge: proof of work, which needs no other service. Whoever asks must find a text that
// gives, behind the challenge, a SHA-256 hash that begins with so many bits of zero. It costs a
// person a moment, and an attacker that moment for each guess. A CAPTCHA in its place costs him
// more, or money; how many solutions count is up to the limits in either case.
//
//   CHALLENGE_BITS   each one more doubles the work; 16 take 65,536 hashes on average

import { createHash } from 'node:crypto'
import { idOf, randomId, signed } from './signed.js'

const BITS = Number(process.env.CHALLENGE_BITS ?? 16)
export const CHALLENGE_MS = 10 * 60_000

/** @param {string} account */
export function newChallenge(account) {
  return signed('challenge', account, randomId(), CHALLENGE_MS)
}

/** @param {string} challenge @param {string} account @param {unknown} solution */
export function isSolved(challenge, account, solution) {
  return (
    typeof solution === 'string' &&
    idOf(challenge, 'challenge', account) !== undefined &&
    hasZeros(challenge, solution)
  )
}

/** What a page does. @param {string} challenge */
export function solutionOf(challenge) {
  let i = 0
  while (!hasZeros(challenge, String(i))) i += 1
  return String(i)
}

/** @param {string} challenge @param {string} solution */
function hasZeros(challenge, solution) {
  const hash = createHash('sha256').update(`${challenge} ${solution}`).digest()
  return Math.clz32(hash.readUInt32BE()) >= BITS
}
