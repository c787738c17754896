import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { folder } from './folder.js'
import { combined, START_US } from './log-lines.js'
import { LINES, SHORT, weir } from './weir.js'

const files = folder()
const HOSTILE = '<script>alert(1)</script>|`@team\u001b[31m\u202e'

/** A HAR file has no client addresses. */
const HAR_ENTRY = {
  startedDateTime: '2026-10-10T00:00:00.500Z',
  request: { method: 'GET', url: 'https://example.com/' },
}

const log = files.write('access.log', LINES.join('\n'))

describe('weir simulate', () => {
  test('prints which keys would have been refused, as tables', async () => {
    const { code, out } = await weir('simulate', [log, ...SHORT])
    expect(code).toBe(0)
    expect(out).toBe(`weir simulate: 22 requests, 2026-10-10 00:00:00 to 2026-10-10 00:00:02 UTC

Read as clf, 22 lines.

Limiter default
---------------
          in all  refused   share
requests      22       10  45.5 %
keys           2        1  50.0 %

policy                   limit  units passed  refusals   of all  most in a window  bound  which holds
sliding-window-5-per-1s      5            12        10  100.0 %                 5      5  in any window: the limit (1 s)

The most affected keys. Each counts as refused until one of its requests passes, or the wait of its last refusal is over:

key        requests  refused  first refused (UTC)      last refused (UTC)       refused for
192.0.2.1        20       10  2026-10-10 00:00:00.500  2026-10-10 00:00:01.900          1 s
`)
  })

  test('prints JSON in which all figures are numbers', async () => {
    const { out } = await weir('simulate', [log, ...SHORT, '--json'])
    const report = JSON.parse(out)
    expect(report).toMatchObject({ entries: 22, isCoarse: false, exceeded: [] })
    expect(report.log).toMatchObject({ format: 'clf', lines: 22 })
    expect(report.limiters[0].runs[0]).toMatchObject({ refused: 10, affected: 1 })
  })

  test('reads standard input, compressed or not, and several logs', async () => {
    const bytes = gzipSync(`${LINES[0]}\n`)
    const { out } = await weir('simulate', ['-', log, ...SHORT, '--json'], {
      input: Readable.from([bytes]),
    })
    expect(JSON.parse(out)).toMatchObject({ entries: 23 })
  })

  test('says to pass logs of several days as files, not in one stream', async () => {
    const dayUs = 86_400_000_000
    const of = (timeUs: number, count: number) =>
      Array.from({ length: count }, (_, i) => `${combined({ timeUs: timeUs + i })}\n`)
    const [older, newer] = [of(START_US, 3).join(''), of(START_US + dayUs, 9_000).join('')]
    const input = () => Readable.from([Buffer.from(newer), Buffer.from(older)])
    const { out } = await weir('simulate', ['-', ...SHORT], { input: input() })
    expect(out).toMatch(/The time went back once, by at most 1 d,.* give them as files/)
    const parts = [files.write('day.log', newer), files.write('day.log.1', older)]
    expect((await weir('simulate', [...parts, ...SHORT])).out).not.toContain('went back')
  })

  test('takes limiters from a policies file, or one of them', async () => {
    const policies = files.write(
      'policies.mjs',
      `import { slidingWindow } from '@weir/core'
      export default {
        api: slidingWindow({ limit: 5, window: '1s' }),
        posts: { policy: slidingWindow({ limit: 1, window: '1h' }), skip: (entry) => entry.method !== 'POST' },
      }`,
    )
    const all = await weir('simulate', [log, '--policy', policies, '--json'])
    expect(JSON.parse(all.out).limiters.map((one: { limiter: string }) => one.limiter)).toEqual([
      'api',
      'posts',
    ])
    const one = await weir('simulate', [log, '--policy', policies, '--limiter', 'posts', '--json'])
    expect(JSON.parse(one.out).limiters).toMatchObject([
      { limiter: 'posts', requests: 0, skipped: 22 },
    ])
    await expect(weir('simulate', [log, '--policy', policies, '--limiter', 'x'])).rejects.toThrow(
      /--limiter is "x"; give one of "api", "posts"/,
    )
  })

  test('calls the one limiter of a file without names default', async () => {
    const file = files.write(
      'unnamed.mjs',
      `import { slidingWindow } from '@weir/core'
      export default slidingWindow({ limit: 5, window: '1s' })`,
    )
    const { out } = await weir('simulate', [log, '--policy', file, '--limiter', 'default'])
    expect(out).toContain('Limiter default')
    for (const name of ['api', 'limit'])
      await expect(weir('simulate', [log, '--policy', file, '--limiter', name])).rejects.toThrow(
        `--limiter is "${name}"; give one of "default", which `,
      )
    const suggested = ['--affect', '1%', '--policy', file, '--limiter', 'default']
    expect((await weir('suggest', [log, ...suggested])).code).toBe(0)
  })

  test('takes a limit and a window as a middleware does, and names the policy after the limiter', async () => {
    const file = files.write(
      'short.mjs',
      `export default {
        hello: { limit: 5, window: '1s' },
        default: { limit: 5, window: '1s', skip: (entry) => entry.ip === '192.0.2.1' },
      }`,
    )
    const { out } = await weir('simulate', [log, '--policy', file, '--json'])
    expect(JSON.parse(out).limiters).toMatchObject([
      { limiter: 'hello', runs: [{ refused: 10, policies: [{ policy: 'hello', limit: 5 }] }] },
      { limiter: 'default', requests: 2, runs: [{ policies: [{ policy: 'sliding-window-1s' }] }] },
    ])
    const suggest = [log, '--affect', '0%', '--policy', file, '--limiter', 'default', '--json']
    expect(JSON.parse((await weir('suggest', suggest)).out)).toMatchObject({ skipped: 20 })
    const same = await weir('simulate', [log, '--compare', file, file])
    expect(same.out).toContain('requests refused      10     10')
  })

  test('takes one limiter from a file whose others cannot be simulated', async () => {
    const file = files.write(
      'slots.mjs',
      `import { concurrency, slidingWindow } from '@weir/core'
      export default {
        slots: concurrency({ limit: 2, holdTimeout: '1m' }),
        api: slidingWindow({ limit: 5, window: '1s' }),
      }`,
    )
    const asked = ['--policy', file, '--limiter', 'api']
    expect((await weir('simulate', [log, ...asked])).out).toContain('Limiter api')
    expect((await weir('suggest', [log, '--affect', '1%', ...asked])).code).toBe(0)
  })

  test('compares two policies files, given as two words or with a comma', async () => {
    const of = (limit: number) =>
      files.write(
        `limit-${limit}.mjs`,
        `import { slidingWindow } from '@weir/core'
        export default slidingWindow({ limit: ${limit}, window: '1s' })`,
      )
    const { out } = await weir('simulate', ['--compare', of(5), of(50), log])
    expect(out).toContain('requests refused      10      0')
    expect(out).toContain('keys affected          1      0              0                  1')
    const comma = await weir('simulate', [log, '--compare', `${of(5)},${of(50)}`])
    expect(comma.out).toBe(out)
  })

  test('says which requests the limiters of two compared files left out', async () => {
    const of = (name: string, key: string) =>
      files.write(
        name,
        `import { slidingWindow } from '@weir/core'
        const policy = slidingWindow({ limit: 5, window: '1s' })
        export default { api: { policy, key: (entry) => entry.${key} } }`,
      )
    const both = ['--compare', of('right.mjs', 'ip'), of('mistyped.mjs', 'address')]
    const { out } = await weir('simulate', [...both, log])
    expect(out).toContain('Not decided on by limiter api of the new file: 22 without a key')
    expect(out).not.toContain('of the old file')
  })

  test('says what to do if the log has no key', async () => {
    const har = files.write('one.har', JSON.stringify({ log: { entries: [HAR_ENTRY] } }))
    const { code, out } = await weir('simulate', [har, ...SHORT])
    expect(code).toBe(1)
    expect(out).toContain('Not decided on: 1 without a key')
    expect(out).toContain(
      'No request was decided on, so the log says nothing about limits: give --key',
    )
    const found = await weir('simulate', [har, ...SHORT, '--key', 'host'])
    expect(found.code).toBe(0)
    expect(found.out).toContain('No request would have been refused.')
  })

  test.each([
    [['--max-refused', '50%', '--max-affected', '50%'], 0, ''],
    [
      ['--max-refused', '45%'],
      1,
      '45.5 % of the requests of limiter "default" would be refused, which is above --max-refused 45.0 %',
    ],
    [
      ['--max-affected', '0.5%'],
      1,
      '50.0 % of the keys of limiter "default" would be refused, which is above --max-affected 0.5 %',
    ],
    [
      ['--max-refused', '50%', '--key', 'mistyped'],
      1,
      'limiter "default" decided on no request, so --max-refused says nothing',
    ],
  ])('with %j ends with %i', async (args, code, says) => {
    const text = await weir('simulate', [log, ...SHORT, ...args])
    expect([text.code, text.out.trimEnd().endsWith(says)]).toEqual([code, true])
    const json = await weir('simulate', [log, ...SHORT, ...args, '--json'])
    expect([json.code, JSON.parse(json.out).exceeded.length]).toEqual([code, code])
  })

  test('says so when whole seconds do not determine what would have happened', async () => {
    const coarse = LINES.map((line) => line.replace(/\.\d{6} /, ' ')).join('\n')
    const { out } = await weir('simulate', [
      files.write('coarse.log', coarse),
      ...['--limit', '5', '--window', '500ms'],
    ])
    expect(out).toContain('The log has whole seconds. It was replayed twice')
    expect(out).toMatch(/requests {6}22 +\d+ to \d+/)
  })

  test('prints a hostile log harmlessly, as text, Markdown and HTML', async () => {
    const lines = Array.from({ length: 9 }, (_, i) =>
      JSON.stringify({ time: (START_US + 1 + i) / 1e6, user: HOSTILE }),
    )
    const hostile = files.write('hostile.jsonl', `${HOSTILE}\n${lines.join('\n')}`)
    const html = files.path('report.html')
    const args = [hostile, ...SHORT, '--key', 'user', '--format', 'json']
    const text = await weir('simulate', [...args, '--html', html])
    const markdown = await weir('simulate', [...args, '--markdown'])
    const page = readFileSync(html, 'utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these
    for (const out of [text.out, markdown.out, page]) expect(out).not.toMatch(/[\u001b\u202e]/)
    expect(markdown.out).toContain('\\<script\\>alert(1)\\</script\\>\\|\\`&#64;team')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;|`@team')
    expect(page).not.toMatch(/<script|<img|<link|javascript:|https?:(?!\/\/www\.w3\.org)/)
  })

  test('writes one page with plots, in light and dark, that loads nothing', async () => {
    const html = files.path('page.html')
    await weir('simulate', [log, ...SHORT, '--html', html])
    const page = readFileSync(html, 'utf8')
    expect(page.match(/<svg /g)).toHaveLength(2)
    expect(page).toContain('prefers-color-scheme: dark')
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
    expect(page).not.toMatch(/ (src|href)=/)
    expect(page).not.toMatch(/NaN|undefined|Infinity/)
    const unwritable = weir('simulate', [log, ...SHORT, '--html', files.path('no/page.html')])
    await expect(unwritable).rejects.toThrow(/--html is .*; give a file that can be written/)
  })
})

describe('weir suggest', () => {
  test('prints the smallest limit for each window, and what others do', async () => {
    const { code, out } = await weir('suggest', [log, '--affect', '50%', '--windows', '1s,1m'])
    expect(code).toBe(0)
    expect(out).toContain(`window  smallest limit  keys refused  share of keys
   1 s               2             1         50.0 %
 1 min               2             1         50.0 %`)
    expect(out).toContain('In 1 s\n------\nlimit')
  })

  test('prints down to where ordinary clients begin, and which limits affect only abusers', async () => {
    const per = (ip: string, count: number) =>
      Array.from({ length: count }, (_, i) => ({ ip, timeUs: START_US + 1 + i * 50_000 }))
    const clients = Array.from({ length: 400 }, (_, i) =>
      per(`10.0.${i >> 8}.${i & 255}`, 1 + (i % 38)),
    )
    const abusers = [236, 300, 400, 500].map((count, i) => per(`192.0.2.${i}`, count))
    const lines = [...clients, ...abusers].flat().sort((one, two) => one.timeUs - two.timeUs)
    const abused = files.write('abused.log', lines.map((line) => combined(line)).join('\n'))
    const command = [abused, '--affect', '0.1%', '--windows', '1m']
    const { out } = await weir('suggest', command)
    expect(out).toContain('1 min             500             0')
    expect(out.split('\n')[2]).toBe(
      'Set 60 in 1 min, if 4 keys abuse you (192.0.2.3, 192.0.2.2, 192.0.2.1, 192.0.2.0): each ' +
        'limit from 38 to 235 refuses them alone. ' +
        'Otherwise 800 in 1 min: 500 is the smallest limit that refuses at most 0.1 % of the keys ' +
        'of this log, and the next will differ.',
    )
    expect(out).toContain('< marks this smallest limit')
    expect(out).toContain(`
4 keys (192.0.2.3, 192.0.2.2, 192.0.2.1, 192.0.2.0) are affected by every limit from 38 to 235; if these abuse you, set 60.

limit`)
    const rows = [...out.matchAll(/^ *(\d+)(?: <)? +(\d+) +[\d.]+ %$/gm)].map(([, ...row]) => row)
    expect(rows.slice(0, 2)).toEqual([
      ['37', '14'],
      ['38', '4'],
    ])
    expect(rows.map(([limit]) => Number(limit))).toContain(500)
    const sample = await weir('suggest', [...command, '--sample', '1/2'])
    expect(sample.out).toMatch(
      / keys? of the sample \([\d., ]+\) (is|are) affected by every limit from /,
    )
  })

  test('advises first the shorter window that refuses a flood and no busy client', async () => {
    const spread = (ip: string, count: number, ms: number) =>
      Array.from({ length: count }, (_, i) => ({
        ip,
        timeUs: START_US + ((i * ms) / count) * 1_000,
      }))
    const minute = 60_000
    const lines = [
      ...Array.from({ length: 40 }, (_, i) => spread(`10.0.0.${i}`, 20, minute)).flat(),
      ...spread('198.51.100.66', 1_200, 5 * minute),
      ...spread('198.51.100.20', 1_000, 120 * minute),
    ].sort((one, two) => one.timeUs - two.timeUs)
    const flooded = files.write('flooded.log', lines.map((line) => combined(line)).join('\n'))
    const { out } = await weir('suggest', [flooded])
    expect(out.split('\n')[2]).toMatch(
      /^Set \d+ in 1 min, if a key abuses you \(198.51.100.66\): .* Or \d+ in 1 h, if 2 keys abuse you \(198.51.100.66, 198.51.100.20\): .* Otherwise .* in 1 h: /,
    )
  })

  test('counts requests, with another algorithm, as JSON and as a page', async () => {
    const html = files.path('suggest.html')
    const args = ['--affect-requests', '10%', '--windows', '1s', '--algorithm', 'token-bucket']
    const { out } = await weir('suggest', [log, ...args, '--json', '--html', html])
    const report = JSON.parse(out)
    expect(report).toMatchObject({ of: 'requests', affect: 0.1, algorithm: 'token-bucket' })
    expect(report.windows[0].limit).toBe(7)
    expect(readFileSync(html, 'utf8')).toContain('<polyline class="curve"')
  })

  test('takes key, cost and skip from a policies file', async () => {
    const base = files.write(
      'base.mjs',
      `import { slidingWindow } from '@weir/core'
      export default { api: { policy: slidingWindow({ limit: 1, window: '1s' }), key: () => 'all', cost: () => 2 } }`,
    )
    const { out } = await weir('suggest', [
      log,
      '--affect',
      '0%',
      '--windows',
      '1m',
      '--policy',
      base,
      '--json',
    ])
    expect(JSON.parse(out)).toMatchObject({ keys: 1, windows: [{ limit: 44 }] })
  })

  test('says so for windows without a limit that is large enough', async () => {
    const costly = files.write(
      'costly.jsonl',
      `{"time":${START_US / 1e6 + 0.5},"ip":"192.0.2.1","n":90000}`,
    )
    const args = ['--affect', '0%', '--windows', '1s', '--algorithm', 'gcra', '--fields', 'cost=n']
    const { out } = await weir('suggest', [costly, ...args])
    expect(out).toContain('none is large enough')
  })

  test('suggests nothing, and fails, if no request can be decided', async () => {
    const { code, out } = await weir('suggest', [log, '--affect', '1%', '--key', 'mistyped'])
    expect(code).toBe(1)
    expect(out).toContain('Left out: 22 without a key')
    expect(out).toContain('No request was decided on')
    expect(out).not.toContain('smallest limit')
  })

  test('says how many requests have no cost', async () => {
    const lines = [{ n: 2 }, {}, { n: 'x' }].map((more) =>
      JSON.stringify({ time: START_US / 1e6 + 0.5, ip: '192.0.2.1', ...more }),
    )
    const costs = files.write('costs.jsonl', lines.join('\n'))
    const args = ['--affect', '0%', '--windows', '1s', '--fields', 'cost=n']
    const { code, out } = await weir('suggest', [costs, ...args])
    expect(code).toBe(0)
    expect(out).toContain('Left out: 2 without a cost that is a whole number.')
  })
})

test('a search shows its progress, and says first that it will not handle an interrupt', async () => {
  const lines: string[] = []
  await weir('suggest', [log, '--affect', '50%', '--windows', '1s,1m'], {
    progress: (line) => lines.push(line),
    blocking: () => lines.push('blocking'),
  })
  expect(lines.slice(-3)).toEqual([
    'blocking',
    'searched 0 of 2 times for a limit',
    expect.stringMatching(/^searched 1 of 2 times for a limit, about .+ left$/),
  ])
})

test.each(['simulate', 'suggest'] as const)(
  'weir %s --help has all of its options',
  async (group) => {
    const { code, out } = await weir(group, ['--help'])
    expect(code).toBe(0)
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
    const options = ['--key', '--fields', '--format', '--from', '--sample', '--max-keys', '--html']
    const own = {
      simulate: ['--compare', '--max-refused', '--limit'],
      suggest: ['--affect-requests', 'at most 33,554,432', 'with --sample 1/16'],
    }
    for (const option of [...options, ...own[group]]) expect(out).toContain(option)
  },
)

test('progress is shown on a terminal: how far, how fast, and how long it takes', async () => {
  const many = Array.from({ length: 60_000 }, (_, i) =>
    combined({ timeUs: START_US + 1 + i * 1_000 }),
  )
  const large = files.write('large.log', many.join('\n'))
  const lines: string[] = []
  // The command reads the clock of the process, which here advances by a second at each read.
  const { now } = Date
  let calls = 0
  Date.now = () => {
    calls += 1_000
    return now() + calls
  }
  try {
    await weir('simulate', [large, ...SHORT, '--json'], { progress: (line) => lines.push(line) })
  } finally {
    Date.now = now
  }
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines)
    expect(line).toMatch(/^\d+ %, [\d,]+ requests, [\d,]+ a second, .+ left$/)
})
