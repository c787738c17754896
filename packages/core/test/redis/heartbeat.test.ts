// Which replies the heartbeat believes, in virtual time: Redis itself never gives such replies, but
// a proxy in front of it, or something in its place, may.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Heartbeat } from '../../src/redis/heartbeat.js'
import { virtualTime } from '../virtual-time.js'

let warnings: [string, { readonly code: string }][]
beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation(((...given: (typeof warnings)[number]) => {
    warnings.push(given)
  }) as never)
})
afterEach(() => {
  vi.restoreAllMocks()
})

let prefixes = 0

/** A heartbeat that has heard of 7 processes, and then gets one of these replies at each beat. */
async function heard(...replies: readonly unknown[]) {
  const time = virtualTime()
  const failures: unknown[] = []
  const watched: unknown[] = []
  const told: unknown[] = [[7, 2], [7, 2], ...replies]
  prefixes += 1
  const prefix = `heartbeat-${prefixes}`
  const heartbeat = new Heartbeat(
    { unready: () => undefined, call: async () => told.shift() },
    {
      prefix,
      time,
      failed: (error) => void failures.push(error),
      watched: (ms) => void watched.push(ms),
    },
  )
  heartbeat.start()
  // The second beat comes half a second after the first.
  await time.advance(500 + 3_000 * replies.length)
  expect(told).toEqual([])
  await heartbeat.stop()
  return { peers: heartbeat.peers, failures, prefix, watched }
}

test.each<[string, unknown]>([
  ['a status', Buffer.from('OK')],
  ['nothing', null],
  ['no numbers', []],
  ['a count alone', [8]],
  ['a negative count', [-8, 0]],
  ['a count that is not whole', [8.5, 0]],
  ['an infinite count', ['Infinity', 0]],
  ['more processes than there can be', [100_001, 0]],
  ['a rank that is none of the count', [8, 8]],
  ['a rank that is not whole', [8, 0.5]],
  ['nothing for a rank', [8, null]],
  ['texts', ['many', 'first']],
])('%s, in place of a count and a rank, is a failure: the last count stands', async (_, reply) => {
  const { peers, failures, prefix } = await heard(reply, reply)
  expect(peers).toEqual({ count: 7, rank: 2 })
  expect(failures).toHaveLength(2)
  expect(warnings).toHaveLength(1)
  expect(warnings[0]?.[1].code).toBe('WEIR_PEERS_UNKNOWN')
  expect(warnings[0]?.[0]).toContain(`heartbeat of prefix "${prefix}" with `)
  expect(warnings[0]?.[0]).toContain('; the last count, 7, stands')
})

test.each<[unknown[], number, number]>([
  [[8, 7], 8, 7],
  [['8', '0'], 8, 0],
  [[100_000, 99_999], 100_000, 99_999],
])('%j is believed', async (reply, count, rank) => {
  const { peers, failures } = await heard(reply)
  expect({ peers, failures, warnings }).toEqual({
    peers: { count, rank },
    failures: [],
    warnings: [],
  })
})

test.each<[unknown, unknown]>([
  [[9, 3], undefined],
  [[9, 3, 0], 0],
  [[9, 3, 5_000], 5_000],
  [['9', '3', '5000'], 5_000],
  [[9, 3, 'soon'], Number.NaN],
  [[9, 3, null], null],
])('%j says for how long somebody watches; if it does not, the count stands', async (reply, ms) => {
  const { peers, watched } = await heard(reply)
  expect(peers).toEqual({ count: 9, rank: 3 })
  // For the beats before, and for the end.
  expect(watched).toEqual([undefined, undefined, ms, undefined])
})

test.each<[string, readonly unknown[], number]>([
  ['has been heard for 10 s', Array.from({ length: 5 }, () => [1, 0]), 1],
  ['has not', Array.from({ length: 4 }, () => [1, 0]), 7],
  // As when Redis comes back empty, and is lost again before the others are back.
  ['was heard before an outage and is heard after it', [[1, 0], ...Array(5), [1, 0]], 7],
])('a smaller count that %s', async (_, replies, count) => {
  expect((await heard(...replies)).peers.count).toBe(count)
})

test('a reply after the end does not say who watches', async () => {
  const time = virtualTime()
  const watched: unknown[] = []
  const answers: ((reply: unknown) => void)[] = []
  const heartbeat = new Heartbeat(
    { unready: () => undefined, call: () => new Promise((resolve) => answers.push(resolve)) },
    { prefix: 'late', time, failed() {}, watched: (ms) => void watched.push(ms) },
  )
  heartbeat.start()
  await time.advance(1)
  const left = heartbeat.stop()
  for (const answer of answers) answer([1, 0, 5_000])
  await left
  expect({ asked: answers.length, watched }).toEqual({ asked: 2, watched: [undefined] })
})

test('the reply is not printed raw, nor completely', async () => {
  await heard(Buffer.from(`\n\x1b[31m${'x'.repeat(1_000_000)}`))
  expect(warnings[0]?.[0]).toContain('"\\u000a\\u001b[31mxxx')
  expect(warnings[0]?.[0].length).toBeLessThan(400)
})

test('after an invalid reply, the next one is believed again', async () => {
  const { peers, failures } = await heard(Buffer.from('OK'), [9, 3])
  expect(peers).toEqual({ count: 9, rank: 3 })
  expect(failures).toHaveLength(1)
})
