// A story that breaks a promise is made as small as possible, and printed in a form that can be
// kept.
import { expect, test } from 'vitest'
import { optionsOf, problemOf, smallestOptions } from '../src/fleet/choices.js'
import { Fleet } from '../src/fleet/fleet.js'
import type { Terms } from '../src/fleet/terms.js'
import { TOLD_US, tellStory } from '../src/stories/course.js'
import { foundText } from '../src/stories/found.js'
import type { Outcome } from '../src/stories/scenarios.js'
import { promiseOf, type Run, shrink } from '../src/stories/shrink.js'

const SMALLEST = smallestOptions(2)

const rest: Omit<Outcome, 'seed' | 'options' | 'requests' | 'broken' | 'hash'> = {
  scenario: 'frozen',
  asked: {},
  sources: {},
  over: 0,
  overSlots: 0,
  end: [],
  untilBroken: [],
}

/** Its bound is too small by a unit, so that the product breaks it. */
const strict: Terms = {
  least: 2,
  bound: ({ limit }) => limit - 1,
  countsAll: true,
  isAway: false,
}

test('no seed draws less than the smallest story', () => {
  for (let seed = 1; seed <= 500; seed += 1)
    expect([seed, problemOf(optionsOf(seed, 2), SMALLEST)]).toEqual([seed, undefined])
})

test('given options are used, and do not change what the seed draws for the rest', () => {
  const { keys, ...rest } = optionsOf(3, 2)
  const { keys: given, ...others } = optionsOf(3, 2, { keys: 2 })
  expect(given).toBe(2)
  expect(others).toEqual(rest)
  expect(optionsOf(3, 2, { processes: 6, limit: 4 })).toMatchObject({ processes: 4, limit: 4 })
  expect(optionsOf(3, 2, { processes: 500 })).toMatchObject({ processes: 500, limit: 500 })
})

test('a real story shrinks, and its report runs it again', async () => {
  const run: Run = async (seed, options) => {
    const fleet = new Fleet(seed, strict, TOLD_US, options)
    await tellStory(fleet, async () => {})
    const { end, untilBroken, hash } = fleet.world.history
    const { requests, broken } = fleet
    return { ...rest, seed, options, requests, broken, end, untilBroken, hash }
  }
  const found = await run(3, optionsOf(3, 2, { demand: 6, kind: 'plain', reset: 0 }))
  const { outcome } = await shrink(found, SMALLEST, run)
  expect(outcome.requests).toBeLessThan(found.requests / 4)
  expect(outcome.broken.map(promiseOf)).toContain(promiseOf(found.broken[0] as string))
  const text = foundText(outcome)
  expect(outcome.untilBroken.at(-1)).toContain('BROKEN')
  const [, seed, json] = / --seed (\d+) .* --options '(.*)'/.exec(text) as RegExpExecArray
  const again = await run(Number(seed), JSON.parse(json as string))
  expect(again).toEqual(outcome)
})
