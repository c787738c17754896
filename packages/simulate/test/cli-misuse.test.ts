import { closeSync, linkSync, openSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { folder } from './folder.js'
import { LINES, SHORT, weir } from './weir.js'

const files = folder()
const log = files.write('access.log', LINES.join('\n'))

test.each([
  [
    'simulate',
    [],
    /no log is given; give a file, or - for standard input: weir simulate access.log/,
  ],
  ['simulate', [log], /no policy is given; give --limit 100 --window 1m, or a policies file/],
  ['simulate', [log, '--limit', '5'], /--window is missing/],
  ['simulate', [log, '--window', '1s'], /--limit is missing/],
  ['simulate', [log, '--limit', '5.5', '--window', '1s'], /--limit is "5.5"; give a whole number/],
  ['simulate', [log, '--limit', '5', '--window', 'soon'], /soon/],
  ['simulate', [log, ...SHORT, '--algorithm', 'x'], /algorithm is "x"; give token-bucket/],
  ['simulate', [log, log, ...SHORT], /is given twice/],
  [
    'simulate',
    [log, ...SHORT, '--policy', 'a.mjs'],
    /--policy is "a.mjs"; give it without --limit/,
  ],
  ['simulate', [log, ...SHORT, '--format', 'xml'], /format is "xml"/],
  ['simulate', [log, ...SHORT, '--fields', 'when=ts'], /--fields is "when=ts"/],
  ['simulate', [log, ...SHORT, '--fields', 'key=user'], /fields is .*; give none/],
  ['simulate', [log, ...SHORT, '--trusted', 'proxy'], /trusted has "proxy"; give addresses/],
  ['simulate', [log, ...SHORT, '--trusted', '0.0.0.0/0'], /a range of all addresses/],
  ['simulate', [log, ...SHORT, '--from', 'noon'], /--from is "noon"; give a time such as/],
  [
    'simulate',
    [log, ...SHORT, '--from', '2026-10-11', '--to', '2026-10-10'],
    /--to is "2026-10-10"; give a time after --from, "2026-10-11"/,
  ],
  ['simulate', [log, ...SHORT, '--sample', '16'], /--sample is "16"; give a part of the keys/],
  ['simulate', [log, ...SHORT, '--sample', '1/0'], /sample is 0/],
  ['simulate', [log, ...SHORT, '--max-keys', 'many'], /--max-keys is "many"/],
  ['simulate', [log, ...SHORT, '--max-refused', '5'], /--max-refused is "5"; give a percentage/],
  ['simulate', [log, ...SHORT, '--key', '+'], /key is "\+"/],
  ['simulate', [log, ...SHORT, '--colour'], /Unknown option '--colour'.*see weir simulate --help/],
  ['simulate', [log, '--redis://:pw@h'], /Unknown option '--redis:…; see weir simulate --help/],
  ['simulate', [log, '--compare', 'a.mjs'], /--compare is "a.mjs"; give two policies files/],
  ['simulate', [log, '--compare=a.mjs'], /--compare is "a.mjs"; give two policies files/],
  [
    'simulate',
    [log, '--compare=a.mjs,b.mjs', '--limiter', 'api'],
    /--limiter is "api"; give --compare without it/,
  ],
  ['suggest', [log, '--affect', '1%', '--affect-requests', '1%'], /are given; give one of them/],
  ['suggest', [log, '--affect', '101%'], /--affect is "101%"/],
  ['suggest', [log, '--affect', '1%', '--windows', '1s,soon'], /--windows is "soon"/],
  ['suggest', [log, '--affect', '1%', '--limit', '5'], /Unknown option '--limit'/],
] as const)('weir %s %j is misuse: exit code 2', async (group, args, message) => {
  const failing = weir(group, args)
  await expect(failing).rejects.toThrow(message)
  await expect(failing).rejects.toMatchObject({ code: /^WEIR_/, exitCode: 2 })
})

describe('--html FILE, where FILE is', () => {
  const policies = files.write(
    'policies.mjs',
    `import { slidingWindow } from '@weir/core'\nexport default slidingWindow({ limit: 5, window: '1s' })\n`,
  )
  const [symbolic, hard] = [files.path('symbolic.log'), files.path('hard.log')]
  symlinkSync(log, symbolic)
  linkSync(log, hard)
  const roundabout = join(dirname(log), '..', basename(dirname(log)), 'access.log')

  test.each([
    ['the log', 'simulate', [log, ...SHORT], log],
    ['the log of suggest', 'suggest', [log, '--affect', '1%'], log],
    ['the log by another path', 'simulate', [log, ...SHORT], roundabout],
    ['a link to the log', 'simulate', [log, ...SHORT], symbolic],
    ['the log, of which a link is read', 'simulate', [symbolic, ...SHORT], log],
    ['another name of the log', 'simulate', [log, ...SHORT], hard],
    ['the policies file', 'simulate', [log, '--policy', policies], policies],
    ['a file that is compared', 'simulate', [log, '--compare', policies, policies], policies],
  ] as const)('%s, is refused: exit code 2', async (_, group, args, html) => {
    const before = readFileSync(html, 'utf8')
    const failing = weir(group, [...args, '--html', html])
    await expect(failing).rejects.toThrow(
      /--html is ".*"; give another file: this one is ".*", and/,
    )
    await expect(failing).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION', exitCode: 2 })
    expect(readFileSync(html, 'utf8')).toBe(before)
  })

  test('standard input, is refused', async () => {
    const fd = openSync(log, 'r')
    try {
      const input = Object.assign(Readable.from([LINES.join('\n')]), { fd })
      const failing = weir('simulate', ['-', ...SHORT, '--html', log], { input })
      await expect(failing).rejects.toThrow(/another file: this one is standard input/)
    } finally {
      closeSync(fd)
    }
  })

  test('a page of an earlier run, is overwritten', async () => {
    const page = files.write('page.html', 'old')
    await weir('simulate', [log, ...SHORT, '--html', page])
    expect(readFileSync(page, 'utf8')).toContain('<!doctype html>')
  })
})

describe('a policies file that', () => {
  test.each([
    [
      'throws',
      `const a = 1\nthrow new Error('no plans')\n`,
      /failed: no plans \(.*throws\.mjs:2:7\)/,
    ],
    [
      'misses a bracket',
      `export default {\n  api: [\n`,
      /failed: Unexpected end of input \(.*misses-a-bracket\.mjs:3\)/,
    ],
    ['throws null', `throw null\n`, /throws-null\.mjs failed: null \(see/],
    [
      'exports nothing',
      `export const policy = 1\n`,
      /exports nothing as its default; give export default/,
    ],
    ['exports a number', `export default 5\n`, /exports-a-number.mjs is 5; give a policy, a list/],
    [
      'imports what is not there',
      `import 'nowhere-at-all'\n`,
      /failed: Cannot find package 'nowhere-at-all'/,
    ],
    [
      'makes a wrong policy',
      `import { slidingWindow } from '@weir/core'\n\nexport default slidingWindow({ limit: -1, window: '1m' })\n`,
      /limit is -1.*makes-a-wrong-policy\.mjs:3:16\)/,
    ],
  ])('%s is reported with its line', async (name, text, message) => {
    const file = files.write(`${name.replaceAll(' ', '-')}.mjs`, text)
    const failing = weir('simulate', [log, '--policy', file])
    await expect(failing).rejects.toThrow(message)
    await expect(failing).rejects.toMatchObject({ exitCode: 2 })
  })

  test('does not exist', async () => {
    const failing = weir('simulate', [log, '--policy', files.path('none.mjs')])
    await expect(failing).rejects.toThrow(
      /the policies file .*none\.mjs is not there, or cannot be read/,
    )
  })

  const made = `import { slidingWindow } from '@weir/core'\nconst policy = slidingWindow({ limit: 1, window: '1m' })\n`

  test.each([
    [
      'policy: () => undefined',
      /what the policy function of limiter "a" chose is undefined; give a/,
    ],
    ['policy: () => [policy, null]', /the policy function of limiter "a" chose is \[/],
    ['policy, skip: async () => false', /skip\(entry\) of limiter "a" answers with a promise/],
    ['policy, key: async () => "k"', /key\(entry\) of limiter "a" answers with a promise/],
    ['policy, cost: async () => 1', /cost\(entry\) of limiter "a" answers with a promise/],
    [
      'policy, key: () => ({ id: 1 })',
      /the answer of key\(entry\) of limiter "a" is \{ id \}; give/,
    ],
    ['policy, key: (entry) => entry.a.b', /key\(entry\) of limiter "a" threw Cannot read/],
    ['policy, cost: () => "5"', /cost is "5"/],
    ['policy: []', /limiter "a" has no policy/],
    ['limit: 5', /limiter "a": sliding-window: window is undefined; give /],
    ['limit: -5, window: "1m"', /limiter "a": sliding-window: limit is -5; give /],
    [
      'policy, limit: 5, window: "1m"',
      /limiter "a" is \{ .*; give .* with policy or limit and window/,
    ],
    ['key: () => "k"', /limiter "a" is \{ key \}; give .* with policy or limit and window/],
  ])('has a limiter { %s } fails with exit code 2', async (limiter, message) => {
    const file = files.write(
      `${Buffer.from(limiter).toString('hex')}.mjs`,
      `${made}export default { a: { ${limiter} } }`,
    )
    const failing = weir('simulate', [log, '--policy', file])
    await expect(failing).rejects.toThrow(message)
    await expect(failing).rejects.toMatchObject({ exitCode: 2 })
  })

  test('has a limiter with an invalid name fails with exit code 2, and prints no control character', async () => {
    const file = files.write('names.mjs', `${made}export default { 'a\\u001b[2J': policy }`)
    for (const more of [[], ['--limiter', 'b']]) {
      const failing = weir('simulate', [log, '--policy', file, ...more])
      await expect(failing).rejects.toThrow('\\u001b')
      await expect(failing).rejects.not.toThrow('\u001b')
      await expect(failing).rejects.toMatchObject({ exitCode: 2 })
    }
  })
})
