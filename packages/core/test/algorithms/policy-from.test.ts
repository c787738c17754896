// Policies as data: what was written can be read, and nothing else.

import { expect, test } from 'vitest'
import { withLimit } from '../../src/algorithms/policy.js'
import { policyText } from '../../src/algorithms/policy-from.js'
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  policyFrom,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../src/index.js'

test.each([
  tokenBucket({ name: 'a', capacity: 20, refill: 0.5, every: '1s' }),
  tokenBucket({ capacity: 20, refill: 10, every: 1_500, maxWait: '1m' }),
  gcra({ limit: 10, period: '1s' }),
  gcra({ limit: 0, period: '1s', burst: 0 }),
  leakyBucket({ name: 'c', capacity: 5, leak: 1, every: '1s' }),
  fixedWindow({ name: 'd', limit: 0, window: '1d', aligned: true }),
  fixedWindow({ name: 'm', limit: 5, window: 'week', timeZone: 'Asia/Tokyo', weekStart: 'sunday' }),
  slidingWindow({ limit: 100, window: '1m', parts: 10 }),
  slidingLog({ limit: 100, window: '1m' }),
  slidingCounter({ name: 'g', limit: 100, window: '1m' }),
  concurrency({ name: 'open', limit: 2, holdTimeout: '30s' }),
  lockout({ name: 'l', limit: 2, window: '1m', block: ['1m', '1h'], forget: '1d' }),
  unlimited(),
  unlimited({ name: 'partner' }),
])('$signature is read as it was written', (policy) => {
  const read = policyFrom(policyText(policy))
  expect(read).toEqual(policy)
  expect(read.signature).toBe(policy.signature)
  expect(policyFrom(JSON.parse(policyText(policy)))).toEqual(policy)
})

const invalid = 'WEIR_INVALID_POLICY'

test.each([
  ['no JSON', '{', invalid],
  ['a list', '[]', invalid],
  ['nothing', 'null', invalid],
  ['a text', '"gcra"', invalid],
  ['no algorithm', '{"limit":5}', invalid],
  ['another algorithm', '{"algorithm":"toString"}', invalid],
  ['an algorithm that is no text', '{"algorithm":["gcra"]}', invalid],
  ['an option twice', '{"algorithm":"gcra","limit":1,"period":"1s","limit":9}', invalid],
  [
    'an option twice, escaped',
    '{"algorithm":"gcra","limit":1,"period":"1s","l\\u0069mit":9}',
    invalid,
  ],
  [
    'the algorithm twice',
    '{"algorithm":"gcra","limit":1,"period":"1s","algorithm":"gcra"}',
    invalid,
  ],
  ['options within options', '{"algorithm":"gcra","limit":1,"period":{"a":1}}', invalid],
  ['an option that there is not', '{"algorithm":"gcra","limit":1,"period":"1s","x":1}', invalid],
  ['a prototype', '{"algorithm":"gcra","limit":1,"period":"1s","__proto__":{}}', invalid],
  ['too long a text', `{"algorithm":"unlimited"}${' '.repeat(1_000)}`, invalid],
  [
    'a duration that is none',
    '{"algorithm":"gcra","limit":1,"period":"1 s"}',
    'WEIR_INVALID_DURATION',
  ],
  ['a name that is none', '{"algorithm":"unlimited","name":"a:b"}', 'WEIR_INVALID_NAME'],
])('%s is refused', (_, text, code) => {
  expect(() => policyFrom(text)).toThrow(expect.objectContaining({ code }))
})

test('a value that is not an object is refused', () => {
  for (const given of [undefined, null, 5, []])
    expect(() => policyFrom(given as never)).toThrow(expect.objectContaining({ code: invalid }))
})

test('colons and quotes in texts do not become options', () => {
  const text = '{"algorithm":"unlimited","name":"a\\":"}'
  expect(() => policyFrom(text)).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_NAME' }))
})

test('a policy that its options do not describe cannot be stored', () => {
  const policy = slidingWindow({ name: 'a', limit: 5, window: '1m' })
  const options = { name: 'a', limit: 5, window: 60_000 }
  const changed = slidingWindow(options)
  options.limit = 9
  for (const each of [withLimit(policy, 9), changed, { ...policy }])
    expect(() => policyText(each)).toThrow(expect.objectContaining({ code: invalid }))
})
