import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CountName,
  DEFAULTS,
  linkOf,
  RANGES,
  type Settings,
  settingsOf,
  TRAFFICS,
  WINDOW_NAMES,
} from '../src/settings.js'

const counts = Object.fromEntries(
  Object.entries(RANGES).map(([name, { least, most }]) => [
    name,
    fc.integer({ min: least, max: most }),
  ]),
) as Record<CountName, fc.Arbitrary<number>>
const settings: fc.Arbitrary<Settings> = fc.record({
  ...counts,
  traffic: fc.constantFrom(...TRAFFICS),
  window: fc.constantFrom(...WINDOW_NAMES),
})

describe('a link', () => {
  test('carries all settings', () => {
    fc.assert(
      fc.property(settings, (made) => {
        expect(settingsOf(linkOf(made))).toEqual({ settings: made, problems: [] })
      }),
    )
  })

  test('without settings means the defaults, without a message', () => {
    for (const link of ['', '#'])
      expect(settingsOf(link)).toEqual({ settings: DEFAULTS, problems: [] })
  })

  test('with some settings means the defaults for the others', () => {
    const link = '#limit=7&traffic=poisson'
    const expected = { ...DEFAULTS, limit: 7, traffic: 'poisson' }
    expect(settingsOf(link)).toEqual({ settings: expected, problems: [] })
  })

  test.each([
    ['a number below the range', '#limit=0'],
    ['a number above the range', '#limit=1001'],
    ['a fraction', '#rate=1.5'],
    ['an exponent', '#rate=1e2'],
    ['a negative number', '#burst=-5'],
    ['no number', '#seed=NaN'],
    ['nothing', '#seed='],
    ['a window that is not offered', '#window=2m'],
    ['an unknown traffic', '#traffic=constructor'],
    ['markup', '#limit=<img src=x onerror=alert(1)>'],
    ['an encoded value', '#limit=%32%30'],
    ['other digits', '#limit=２０'],
    ['a name of every object', '#__proto__=1&constructor=2&toString=3'],
    ['a name twice', '#limit=20&limit=30'],
    ['no pairs', '#hello'],
    ['a long text', `#${'limit=20&'.repeat(100)}`],
  ])('with %s means the defaults, with a message', (_, link) => {
    const read = settingsOf(link)
    expect(read.settings).toEqual(DEFAULTS)
    expect(read.problems).not.toEqual([])
  })

  test('never causes an exception, settings out of range, or a message with its words', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.tuple(fc.constantFrom(...Object.keys(DEFAULTS)), fc.string()).map((two) => two.join('=')),
    )
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const read = settingsOf(`#${parts.join('&')}`)
        expect(settingsOf(linkOf(read.settings))).toEqual({
          settings: read.settings,
          problems: [],
        })
        for (const problem of read.problems) expect(problem).toMatch(/^[\w ’,.]+$/)
      }),
    )
  })
})
