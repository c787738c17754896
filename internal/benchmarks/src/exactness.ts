// Checks that a subject does what it is measured for. Otherwise its figures would be worthless, so
// these functions throw.

import { strict as assert } from 'node:assert'
import type { Subject } from './subject.js'

const SMALL = 10
const ASKED = 16

/**
 * Checks that a limit of 10 lets 10 of 16 requests pass, and that the remaining units fall one by
 * one.
 * @param together whether the 16 requests come at once. Some memory stores answer with objects that
 *   later requests change.
 */
export async function checkLimit(
  name: string,
  open: (limit: number) => Subject | Promise<Subject>,
  together: boolean,
): Promise<void> {
  const subject = await open(SMALL)
  try {
    const left = []
    for (let i = 0; i < 3; i += 1) left.push(subject.left(await subject.ask('one by one')))
    if (left.some(Number.isFinite))
      assert.deepEqual(left, [9, 8, 7], `${name} does not count one by one`)
    const { allowed } = subject
    if (allowed === undefined) return
    const pass = async (): Promise<boolean> => {
      try {
        return allowed(await subject.ask('many'))
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        return false
      }
    }
    const passes: boolean[] = []
    if (together) passes.push(...(await Promise.all(Array.from({ length: ASKED }, pass))))
    else for (let i = 0; i < ASKED; i += 1) passes.push(await pass())
    const passed = passes.filter(Boolean).length
    assert.equal(passed, SMALL, `${name} lets ${passed} of ${ASKED} pass at a limit of ${SMALL}`)
  } finally {
    await subject.close()
  }
}

/** Checks that, after `decisions` on a fresh key, one more is counted as the next one. */
export async function checkCount(
  name: string,
  subject: Subject,
  key: string,
  decisions: number,
  limit: number,
): Promise<void> {
  const left = subject.left(await subject.ask(key))
  if (Number.isNaN(left)) return
  assert.equal(limit - left, decisions + 1, `${name} counts wrongly`)
}
