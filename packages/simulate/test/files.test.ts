import { execFileSync, spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { slidingLog } from '@weir/core'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sizeOf } from '../src/files/texts.js'
import { compareLogs, type LogSource, type Progress, simulateLog } from '../src/node.js'
import { folder } from './folder.js'
import { combined, START_US } from './log-lines.js'

const files = folder()
const policies = slidingLog({ limit: 2, window: '10s' })
const LINES = Array.from({ length: 500 }, (_, i) =>
  combined({ timeUs: START_US + 1 + i * 500_000, ip: `192.0.2.${i % 5}`, user: 'jörg €😀' }),
)
const LOG = `${LINES.join('\n')}\n`
const plain = files.write('access.log', LOG)

/** The results of a simulation, without how the log was read. */
async function simulated(logs: readonly LogSource[]) {
  const { log, ...report } = await simulateLog({ logs, policies })
  return report
}

describe('a log', () => {
  test('is read from a file, compressed or not, whatever its name, and from a stream', async () => {
    const { log, ...expected } = await simulateLog({ logs: [plain], policies })
    const addresses = { asked: 500, lists: 0, others: 0, firstOther: undefined, proxies: undefined }
    expect(log).toEqual({
      format: 'clf',
      lines: 500,
      broken: { count: 0, foreign: 0, first: [] },
      addresses,
    })
    expect(expected).toMatchObject({ entries: 500, limiters: [{ requests: 500, keys: 5 }] })
    const zipped = files.write('zipped.log', gzipSync(LOG))
    const members = Buffer.concat([gzipSync(LOG.slice(0, 999)), gzipSync(LOG.slice(999))])
    const stream = (bytes: Uint8Array) => Readable.from([bytes.subarray(0, 1), bytes.subarray(1)])
    expect(await simulated([zipped])).toEqual(expected)
    expect(await simulated([files.write('two.log', members)])).toEqual(expected)
    expect(await simulated([stream(Buffer.from(LOG))])).toEqual(expected)
    expect(await simulated([stream(members)])).toEqual(expected)
  })

  test('in several files is merged by time, whatever the order of the files', async () => {
    const expected = await simulated([plain])
    const parts = [0, 1, 2].map((part) =>
      files.write(`part-${part}.log`, LINES.filter((_, i) => i % 3 === part).join('\n')),
    )
    const older = files.write('access.log.1', LINES.slice(0, 300).join('\n'))
    const newer = files.write('access.log.0', LINES.slice(300).join('\n'))
    expect(await simulated(parts)).toEqual(expected)
    expect(await simulated([newer, older])).toEqual(expected)
  })

  test('may be a named pipe, and is then read to the end', async () => {
    const pipe = files.path('pipe')
    execFileSync('mkfifo', [pipe])
    // Opening and closing it again would end the writer.
    expect(await sizeOf([pipe])).toBeUndefined()
    const writer = spawn('cp', [plain, pipe])
    const ended = new Promise((resolve) => writer.on('close', resolve))
    expect(await simulated([pipe])).toEqual(await simulated([plain]))
    expect(await ended).toBe(0)
  })

  test('may be cut anywhere, even within a character', async () => {
    const bytes = Buffer.from(LINES.slice(0, 20).join('\n'))
    const logOf = (parts: readonly Uint8Array[]) =>
      simulateLog({ logs: [Readable.from(parts)], policies, key: 'user' })
    const expected = await logOf([bytes])
    expect(expected.limiters[0]?.runs[0]?.mostAffected[0]?.key).toBe('jörg €😀')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 30 }), async (cuts) => {
        const at = [0, ...cuts.sort((one, other) => one - other), bytes.length]
        const parts = at.slice(1).map((end, i) => bytes.subarray(at[i], end))
        expect(await logOf(parts)).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  test('has its broken lines counted and shown, with the file if there are several', async () => {
    const broken = files.write('broken.log', `what\n${LINES[0]}\n\u001b[2J\n`)
    const { log } = await simulateLog({ logs: [plain, broken], policies })
    expect(log).toMatchObject({ lines: 503, broken: { count: 2 } })
    expect(log.broken.first).toEqual([
      expect.objectContaining({ log: broken, line: 1, text: 'what' }),
      expect.objectContaining({ log: broken, line: 3, text: '\\u{1b}[2J' }),
    ])
  })
})

describe('fails, with a reason, if', () => {
  const code = { code: 'WEIR_LOG_UNREADABLE' }

  test('it is UTF-16, in either order of bytes', async () => {
    const little = Buffer.from(`\ufeff${LOG}`, 'utf16le')
    for (const bytes of [little, Buffer.from(little).swap16()]) {
      const failing = simulateLog({ logs: [files.write('utf16.log', bytes)], policies })
      await expect(failing).rejects.toThrow(/utf16\.log is UTF-16; give UTF-8: iconv/)
      await expect(failing).rejects.toMatchObject(code)
    }
  })

  test('there is no such file', async () => {
    const failing = simulateLog({ logs: [files.path('none.log')], policies })
    await expect(failing).rejects.toThrow(/none\.log cannot be read: ENOENT/)
    await expect(failing).rejects.toMatchObject({ ...code, exitCode: 2 })
    await expect(simulateLog({ logs: [files.path('.')], policies })).rejects.toThrow(
      /it is a folder/,
    )
  })

  test('the end of a compressed file is missing', async () => {
    const cut = files.write('cut.gz', gzipSync(LOG).subarray(0, 500))
    const failing = simulateLog({ logs: [cut], policies })
    await expect(failing).rejects.toThrow(/cut\.gz cannot be read: unexpected end of file/)
    await expect(failing).rejects.toMatchObject(code)
  })

  test('it only begins like a compressed one', async () => {
    const fake = files.write('fake.gz', Buffer.from([0x1f, 0x8b, 1, 2, 3]))
    await expect(simulateLog({ logs: [fake], policies })).rejects.toMatchObject(code)
  })

  test('none of its lines can be read, since no verdict would mean anything', async () => {
    const odd = files.write('odd.log', 'one\ntwo\n')
    await expect(simulateLog({ logs: [odd], policies })).rejects.toThrow(
      /none of 2 lines could be read as clf; line 1 has no address.*: one; give the Combined/,
    )
  })

  test('its reader gives up', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await expect(simulateLog({ logs: [plain], policies, signal })).rejects.toBe(reason)
  })

  test('a stream fails', async () => {
    const failing = async function* () {
      yield LOG
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    }
    await expect(simulateLog({ logs: [failing()], policies })).rejects.toThrow(
      /standard input cannot be read: reset/,
    )
  })
})

test('progress reports how much of how much was read', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const told: Progress[] = []
  const slow = async function* () {
    for (const line of LINES.slice(0, 3)) {
      yield `${line}\n`
      vi.setSystemTime(Date.now() + 1_000)
    }
  }
  await simulateLog({ logs: [slow()], policies, onProgress: (progress) => told.push(progress) })
  expect(told.length).toBeGreaterThan(0)
  for (const { bytes, ofBytes } of told) {
    expect(bytes).toBeGreaterThan(0)
    expect(ofBytes).toBeUndefined()
  }
})

test('a JSON array is refused, with how to pass its objects', async () => {
  const log = files.write('array.json', JSON.stringify([{ time: 1 }], undefined, 2))
  await expect(simulateLog({ logs: [log], policies })).rejects.toThrow(
    /none of 5 lines could be read as clf; .*; of a JSON array, give one object per line: jq -c/,
  )
})

test('two sets of policies are compared by the keys that they refuse', async () => {
  const lines = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].flatMap((ip, i) =>
    Array.from({ length: 2 + i }, (_, j) => combined({ ip, timeUs: START_US + 1 + j * 1_000_000 })),
  )
  const log = files.write('compare.log', lines.join('\n'))
  const before = slidingLog({ limit: 2, window: '10s' })
  const after = { other: { policy: slidingLog({ limit: 3, window: '10s' }), skip: () => false } }
  const report = await compareLogs({ logs: [log], before, after })
  expect(report.limiters).toEqual([
    {
      limiter: 'default -> other',
      times: 'logged',
      refused: { before: 3, after: 1 },
      affected: { before: 2, after: 1 },
      newlyAffected: { count: 0, most: [] },
      noLongerAffected: { count: 1, most: [{ key: '192.0.2.2', refused: 1 }] },
    },
  ])
  const two = { one: before, two: before }
  const named = await compareLogs({
    logs: [log],
    before: two,
    after: { two: after.other, three: before },
  })
  expect(named.limiters.map(({ limiter }) => limiter)).toEqual(['two'])
  expect([named.onlyBefore, named.onlyAfter]).toEqual([['one'], ['three']])
})

test('a set of policies that decides nothing, or other requests, can be compared', async () => {
  const at = (timeUs: number) => combined({ timeUs })
  const whole = START_US - (START_US % 1_000_000) + 1_000_000
  const log = files.write('whole.log', [at(whole), at(whole), at(whole + 1_000_000)].join('\n'))
  const policy = slidingLog({ limit: 1, window: '10s' })
  const none = { default: { policy, key: () => undefined } }
  const counts = { refused: { before: 2, after: 0 }, affected: { before: 1, after: 0 } }
  const [there, back] = await Promise.all([
    compareLogs({ logs: [log], before: policy, after: none }),
    compareLogs({ logs: [log], before: none, after: policy }),
  ])
  expect(there.limiters).toMatchObject([
    { times: 'start', ...counts },
    { times: 'spread', ...counts },
  ])
  expect(back.limiters).toMatchObject([
    { times: 'start', refused: { before: 0, after: 2 }, newlyAffected: { count: 1 } },
    { times: 'spread', refused: { before: 0, after: 2 }, newlyAffected: { count: 1 } },
  ])
})
