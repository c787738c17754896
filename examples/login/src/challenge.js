// @ts-check
// A challenge: proof of work, which needs no other service. The client must find a text so that the
// SHA-256 hash of the challenge and the text begins with a given number of zero bits. That takes a
// moment, which an attacker spends on each guess. A CAPTCHA would cost an attacker more, or money;
// in either case the limits decide how many solutions count.
//
//   CHALLENGE_BITS   the zero bits: each one doubles the work; 16 take 65,536 hashes on average

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

/** Solves a challenge, as a page does. @param {string} challenge */
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
