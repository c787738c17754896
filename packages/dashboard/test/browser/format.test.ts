import { expect, test } from 'vitest'
import {
  bytes,
  count,
  duration,
  listed,
  measured,
  rate,
  share,
  shown,
} from '../../src/page/format.js'
import { changeWords, limitWords, policyWords } from '../../src/page/words.js'

const DAY_MS = 86_400_000
const gcra = { algorithm: 'gcra', limit: 10, window: '1m' }

test.each<[promise: string, said: readonly unknown[], words: readonly string[]]>([
  [
    'a count is written to the unit',
    [0, 1_234_567, Number.MAX_SAFE_INTEGER].map(count),
    ['0', '1,234,567', '9,007,199,254,740,991'],
  ],
  [
    'a rate has two digits below 100, so that one a second is 1, and then three',
    [0, 0.333_3, 0.999, 12.34, 99.2, 99.9, 499.6, 1_234, 12_345, 1_234_567].map(rate),
    ['0', '0.33', '1', '12', '99', '99.9', '500', '1,230', '12.3K', '1.23M'],
  ],
  ['a measured number has three digits', [0.855_1, 12.5].map(measured), ['0.855', '12.5']],
  [
    'a part above 0 is not shown as 0%, and one below the whole not as 100%',
    [share(1, 1e6), share(1e6 - 1, 1e6), share(0, 5), share(5, 5), share(1, 15), share(1, 0)],
    ['<0.1%', '>99.9%', '0%', '100%', '6.7%', '–'],
  ],
  [
    'a duration shows its two largest units',
    [0.4, 1_500, 12_000, 61_000, 3_600_000, DAY_MS + 3_661_000, null, undefined].map(duration),
    ['0.4 ms', '1.5 s', '12 s', '1 min 1 s', '1 h', '1 d 1 h', 'never', '–'],
  ],
  ['bytes have a unit', [12, 1_200, 2e12].map(bytes), ['12 B', '1.2 kB', '2 TB']],
  [
    'of many names, three are listed',
    [listed(['a', 'b', 'c']), listed(['a', 'b', 'c', 'd', 'e'])],
    ['a, b, c', 'a, b, c and 2 more'],
  ],
  [
    'a text from outside is on one line, in one direction, and cut',
    ['a\r\nb\u001b[2J\u202ec\u200b\u2066', 'x'.repeat(500)].map((text) => shown(text)),
    ['a\\u000d\\u000ab\\u001b[2J\\u202ec\\u200b\\u2066', `${'x'.repeat(120)}…`],
  ],
  [
    'a policy is written in words',
    [
      { algorithm: 'sliding-window', name: 'calls', limit: 2_000, window: '1m' },
      { algorithm: 'token-bucket', name: 'b', capacity: 20, refill: 10, every: '1s' },
      { algorithm: 'lockout', name: 'g', limit: 5, window: '15m', block: ['1m', '1h'] },
      { algorithm: 'unlimited', name: 'calls' },
    ].map(policyWords),
    [
      'sliding window: 2,000 per 1m',
      'token bucket: capacity 20, refill 10 every 1s',
      'lockout: 5 per 15m, block ["1m","1h"]',
      'unlimited: no limit',
    ],
  ],
  [
    'a change names what differs',
    [changeWords(gcra, { ...gcra, limit: 20 }), changeWords(gcra, gcra)],
    ['limit from 10 to 20', ''],
  ],
  [
    'a limit is in a window, at once, or different for each request',
    [limitWords(5, 60_000), limitWords(12, undefined), limitWords(undefined, undefined)],
    ['5 in 1 min', '12 at once', 'set by each request'],
  ],
])('%s', (_, said, words) => {
  expect(said).toEqual(words)
})
