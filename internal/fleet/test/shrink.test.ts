// A story that breaks a promise is made as small as possible, and printed in a form that can be
// kept.
import { expect, test } from 'vitest'
import { optionsOf, problemOf, type StoryOptions, smallestOptions } from '../src/fleet/choices.js'
import { Fleet } from '../src/fleet/fleet.js'
import type { Terms } from '../src/fleet/terms.js'
import { TOLD_US, tellStory } from '../src/stories/course.js'
import { foundText } from '../src/stories/found.js'
import type { Outcome } from '../src/stories/scenarios.js'
import { promiseOf, type Run, shrink, smallerValues } from '../src/stories/shrink.js'

const SMALLEST = smallestOptions(2)
const LARGE = optionsOf(1, 2, { processes: 6, keys: 3, limit: 80, faults: 8, denyCache: true })

const good: Outcome = {
  seed: 7,
  scenario: 'frozen',
  options: LARGE,
  requests: 0,
  asked: {},
  sources: {},
  over: 0,
  overSlots: 0,
  hash: '',
  broken: [],
  end: [],
  untilBroken: [],
}

/** Stories that break a promise if their options meet the condition. */
function storiesBrokenIf(isBroken: (options: StoryOptions, seed: number) => boolean): Run {
  return async (seed, options) => {
    const broken = isBroken(options, seed) ? [`4.5 user-${seed}: ${seed} admitted`] : []
    return { ...good, seed, options, broken }
  }
}

/** Its bound is too small by a unit, so that the product breaks it. */
const strict: Terms = {
  least: 2,
  bound: ({ limit }) => limit - 1,
  countsAll: true,
  isAway: false,
}

test('what a story does not need to break its promise is removed, and what it needs stays', async () => {
  const run = storiesBrokenIf(({ processes, faults }) => processes >= 3 && faults >= 2)
  const { outcome } = await shrink(await run(7, LARGE), SMALLEST, run)
  expect(outcome.options).toEqual({ ...SMALLEST, processes: 3, faults: 2, limit: 3 })
})

test('a smaller story may have another seed, since its course differs', async () => {
  const run = storiesBrokenIf(({ keys }, seed) => keys === 3 || (keys === 1 && seed === 9))
  const { outcome } = await shrink(await run(7, LARGE), SMALLEST, run)
  expect(outcome).toMatchObject({ seed: 9, options: SMALLEST })
})

test('a smaller story that breaks another promise is not taken', async () => {
  const run: Run = async (_, options) => ({
    ...good,
    options,
    broken: options.keys === 3 ? ['1 p2 took 203 ms'] : ['2 p1 rejected'],
  })
  const { outcome } = await shrink(await run(7, LARGE), SMALLEST, run)
  expect(outcome.options).toEqual({ ...SMALLEST, keys: 3 })
})

test('numbers and names do not distinguish promises', () => {
  expect(promiseOf('4.332 user-0: 19 admitted, 18 may be')).toBe(
    promiseOf('12.1 user-2: 7 admitted, 5 may be'),
  )
  expect(promiseOf('4.3 p1 took 203.5 ms')).not.toBe(promiseOf('4.3 p1: 2 timers'))
})

test('smaller values are in ascending order, and never smaller than those that seeds draw', () => {
  expect(smallerValues(8, 1)).toEqual([1, 4, 7])
  expect(smallerValues(2, 1)).toEqual([1])
  expect(smallerValues(2.4, 0.4)).toEqual([0.4, 1.4])
  expect(smallerValues<string>('sliding-log', 'fixed-window')).toEqual(['fixed-window'])
  expect(smallerValues(0.4, 0.4)).toEqual([])
})

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
    return { ...good, seed, options, requests, broken, end, untilBroken, hash }
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
