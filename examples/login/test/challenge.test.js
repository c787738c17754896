// @ts-check
// What counts as a solved challenge.

import { expect, onTestFinished, test, vi } from 'vitest'

vi.stubEnv('CHALLENGE_BITS', '8')
const work = await import('../src/challenge.js')

const ANN = 'ann@example.org'

/** A challenge that the first attempt does not solve. */
function unsolved() {
  let challenge = work.newChallenge(ANN)
  while (work.solutionOf(challenge) === '0') challenge = work.newChallenge(ANN)
  return challenge
}

test('work solves a challenge', () => {
  const challenge = unsolved()
  const solution = work.solutionOf(challenge)
  expect(Number(solution)).toBeGreaterThan(0)
  expect(work.isSolved(challenge, ANN, solution)).toBe(true)
})

test.each([
  ['no solution', () => undefined],
  ['a number', () => 7],
  ['a wrong one', () => '0'],
])('not by %s', (_, solution) => {
  expect(work.isSolved(unsolved(), ANN, solution())).toBe(false)
})

test('a challenge is not solved at another account, nor if it was made up', () => {
  const challenge = unsolved()
  expect(work.isSolved(challenge, 'bob@example.org', work.solutionOf(challenge))).toBe(false)
  const madeUp = challenge.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  expect(work.isSolved(madeUp, ANN, work.solutionOf(madeUp))).toBe(false)
})

test('an expired challenge is not solved', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const challenge = unsolved()
  const solution = work.solutionOf(challenge)
  vi.advanceTimersByTime(work.CHALLENGE_MS - 1)
  expect(work.isSolved(challenge, ANN, solution)).toBe(true)
  vi.advanceTimersByTime(1)
  expect(work.isSolved(challenge, ANN, solution)).toBe(false)
})
