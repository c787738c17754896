// Any log is read to the end: lines that cannot be read are counted and shown.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyOf, type LogEntry, type LogFormat, logReader, parserOf } from '../src/index.js'
import { shown } from '../src/log/shown.js'
import { timeOf } from '../src/log/times.js'
import { combined, START_US } from './log-lines.js'

const FORMATS: readonly LogFormat[] = ['clf', 'alb', 'w3c', 'json', 'har']

/** Text that means something to a parser, in any order. */
const pieces = fc.oneof(
  fc.constantFrom('"', '\\', '[', ']', ' ', '-', '\\"', '\\x2', '\r', '{', '}', ':', ',', '/', '+'),
  fc.constantFrom('10/Oct/2026:12:00:01 +0000', '200', 'GET / HTTP/1.1', '2026-10-10T12:00:01Z'),
  fc.constantFrom('"ts":', '"request":', '{"log":{"entries":[', '__proto__', 'null', '1e400'),
  fc.string({ unit: 'binary', maxLength: 5 }),
)
const lines = fc.array(pieces, { maxLength: 40 }).map((some) => some.join(''))

function look(entry: LogEntry): void {
  const { timeUs, ip, user, method, path, host, status, bytes, key, cost } = entry
  expect(Number.isInteger(timeUs)).toBe(true)
  expect([ip, user, method, path, host, status, bytes, key, cost]).toHaveLength(9)
  for (const name of ['referer', 'user-agent', 'x']) entry.header(name)
  for (const name of ['user.id', 'status', '__proto__', 'constructor.name']) entry.field(name)
  for (const spec of ['ip', 'user+path', 'header.x+a.b']) keyOf(spec)(entry)
}

describe.each(FORMATS)('%s', (format) => {
  const { parse } = parserOf(format, { fields: format === 'json' ? { cost: 'a.b' } : {} })

  test('no line makes the parser throw, and an entry has all of its fields', () => {
    fc.assert(
      fc.property(fc.oneof(lines, fc.json()), (line) => {
        for (const parsed of [parse(line)].flat())
          if (typeof parsed === 'object') look(parsed as LogEntry)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a changed line is read, or the reason why not is given', () => {
    const line =
      format === 'clf' ? combined({ timeUs: START_US }) : '{"ts":1796472001,"status":200}'
    fc.assert(
      fc.property(fc.nat(line.length), fc.nat(8), lines, (at, count, put) => {
        const parsed = parse(line.slice(0, at) + put + line.slice(at + count))
        for (const one of [parsed].flat())
          expect(['object', 'string', 'undefined']).toContain(typeof one)
      }),
      { numRuns: 1_000 },
    )
  })

  // It takes milliseconds. In quadratic time it would take longer than a test may.
  test.each(['"', '\\', '\\"', '[', '] "', ' ', '-', '{"a":', '[[', '10/Oct/2026:', '1'])(
    'a line of half a million characters is read in linear time: many %s',
    (piece) => {
      const long = piece.repeat(500_000 / piece.length)
      const begun = combined({ timeUs: START_US }).slice(0, -30) + long
      for (const line of [
        long,
        begun,
        `${begun}"`,
        `{"ts":"${long}`,
        `{"ts":1796472001,"a":"${long}"}`,
      ])
        for (const parsed of [parse(line)].flat())
          if (typeof parsed === 'object') look(parsed as LogEntry)
    },
  )
})

test('no text is read as a time that is not a whole number', () => {
  fc.assert(
    fc.property(fc.oneof(lines, fc.double(), fc.string()), (value) => {
      const timeUs = timeOf(value)
      expect(Number.isNaN(timeUs) || Number.isSafeInteger(timeUs)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})

test('a log has the same entries and broken lines wherever it is cut into parts', () => {
  const log = [
    combined({ timeUs: START_US }),
    'broken',
    '',
    combined({ timeUs: START_US, user: 'änn' }),
    `${combined({ timeUs: START_US })}\r`,
    'unended',
  ].join('\n')
  const readIn = (parts: readonly string[]) => {
    const users: (string | undefined)[] = []
    const reader = logReader({}, ({ user }) => users.push(user))
    for (const part of parts) reader.write(part)
    reader.end()
    return { users, ...reader.report() }
  }
  const whole = readIn([log])
  expect(whole).toMatchObject({
    users: [undefined, 'änn', undefined],
    format: 'clf',
    lines: 6,
    broken: { count: 2 },
  })
  fc.assert(
    fc.property(fc.array(fc.nat(log.length), { maxLength: 8 }), (cuts) => {
      const at = [0, ...cuts.sort((one, other) => one - other), log.length]
      expect(readIn(at.slice(1).map((end, i) => log.slice(at[i], end)))).toEqual(whole)
    }),
  )
})

test('a line without an end is dropped if it is too long, and what follows is read', () => {
  const entries: LogEntry[] = []
  const reader = logReader({ format: 'clf' }, (entry) => entries.push(entry))
  for (let i = 0; i < 40; i += 1) reader.write('x'.repeat(100_000))
  reader.write(`end\n${combined({ timeUs: START_US })}\n`)
  reader.end()
  expect(entries).toHaveLength(1)
  const { broken } = reader.report()
  expect(broken.count).toBe(1)
  expect(broken.first[0]).toMatchObject({ line: 1, why: 'over 1048576 characters' })
  expect(broken.first[0]?.text.length).toBeLessThan(110)
})

test('the first five broken lines are shown, cut and printable', () => {
  const reader = logReader({ format: 'clf' }, () => {})
  for (let i = 0; i < 9; i += 1) reader.write(`\u001b[31m${i}\u202e${'x'.repeat(200)}\n`)
  reader.end()
  const { broken } = reader.report()
  expect(broken.count).toBe(9)
  expect(broken.first.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5])
  expect(broken.first[0]?.text).toMatch(/^\\u\{1b\}\[31m0\\u\{202e\}x{93}…$/)
})

test('the content of a log is shown without terminal control characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these
      expect(shown(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e]/)
    }),
  )
})

test('logs that follow one another are read, with a byte order mark before each', () => {
  let entries = 0
  const reader = logReader({}, () => {
    entries += 1
  })
  reader.write(`\ufeff${combined({ timeUs: START_US })}`)
  reader.end()
  reader.write(`${combined({ timeUs: START_US })}\n`)
  reader.end()
  expect(entries).toBe(2)
})
