import { expect, test } from 'vitest'
// @ts-expect-error: a tool, in JavaScript
import { newCountersIn } from '../../../../scripts/new-counters.mjs'

test.each([
  ['New counters: bucket.', ['bucket']],
  [
    '**Sharper buckets.** They are.\n\nNew counters: bucket, sliding-log.\n',
    ['bucket', 'sliding-log'],
  ],
  ['What says that there are New counters: of bees.', []],
  ['**Nothing of the kind.**', []],
])('%j announces new counters of %j', (text, names) => {
  expect(newCountersIn(text)).toEqual(names)
})

test.each(['New counters: bucket', 'New counters:', 'New counters: Bucket.', 'New counters: a b.'])(
  'the line %j is refused, with what would be right',
  (line) => {
    expect(() => newCountersIn(line)).toThrow(/^the line "New counters:.*: bucket, sliding-log\.'$/)
  },
)
