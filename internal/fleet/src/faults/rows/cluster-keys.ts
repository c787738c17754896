// In addition to the matrix: keys of any shape on a real Cluster.
import { countAtMost, exactly } from '../checks.js'
import { load, NO_FAULT, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { degradedAtMost, sane } from '../verdicts.js'

const LIMIT = 5

/** Texts that empty, move or break a hash tag, a protocol line or a table. */
const HOSTILE = [
  ...[
    '}',
    '{',
    '{}',
    '}a',
    '{x}y',
    '}{',
    'a{b',
    'a}b',
    '{a}{b}',
    ':',
    '*',
    '%',
    '%7B',
    ' ',
    '.',
    '..',
    '#',
  ],
  ...[
    '\0',
    '\n',
    '\r\n$3\r\nfoo\r\n',
    '\u001b[31m',
    '\u{1F600}',
    'e\u0301',
    '\u00e9',
    '\uD800',
    '\uDFFF',
  ],
  ...['__proto__', 'constructor', 'toString', 'x'.repeat(128), 'x'.repeat(129), 'y'.repeat(8_192)],
]
/** Keys that would all have one hash tag if tags were taken from user input. */
const STEERING = [...Array(120).keys()].map((i) => `{same}${i}`)

export const hostileKeys: Row = {
  number: 'hostile keys',
  fault: 'hash tags and other shapes of keys, Cluster',
  must: 'count each key for itself, let none choose its slot',
  alone: true,
  async run(stage, length) {
    const cluster = await stage.cluster({ replicas: 0 })
    const keys = [...HOSTILE, ...STEERING]
    const policy = { make: 'fixedWindow', options: { name: 'hour', limit: LIMIT, window: '1h' } }
    const job = load(0, { to: { cluster: cluster.ports }, keys, policy, ratePerSecond: 600 })
    const course = {
      ...length,
      warmUpMs: ((2 * LIMIT * keys.length) / 600) * 1_000,
      faultMs: 0,
      afterMs: 0,
    }
    const run = await underFault(stage, course, [job], NO_FAULT)
    const counts = keys.map((key) => run.samples.filter((s) => s.key === key && s.allowed).length)
    const sizes = await Promise.all(
      cluster.masters.map(async (m) => Number(await m.command('DBSIZE'))),
    )
    return [
      exactly('least for a key', Math.min(...counts), LIMIT),
      exactly('most for a key', Math.max(...counts), LIMIT),
      exactly(
        'keys',
        sizes.reduce((sum, size) => sum + size, 0),
        keys.length,
      ),
      countAtMost('on one shard', Math.max(...sizes), Math.floor(keys.length * 0.6)),
      degradedAtMost(run, 0),
      ...sane(run),
    ]
  },
}
