// The command `weir limits`, on a real Redis.

import { createHash } from 'node:crypto'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { weir } from '../../src/cli/main.js'
import { slidingWindow } from '../../src/index.js'
import { livePolicies } from '../../src/live/live-policies.js'
import { singleClient, strictStore } from './clients.js'

const { port, clusterPorts } = inject('redis')
const policy = (limit: number, window = '1m') =>
  JSON.stringify({ algorithm: 'sliding-window', name: 'api', limit, window })

let runs = 0

/** The command on settings of their own. */
function bench(...more: string[]): {
  name: string
  run: (...args: string[]) => Promise<string>
} {
  runs += 1
  const name = `cli-${runs}-${Date.now()}`
  const at = ['--redis', `redis://127.0.0.1:${port}`, '--name', name, ...more]
  return { name, run: async (...args) => (await weir(['limits', ...args, ...at])).join('\n') }
}

test('what is set is listed, told in the history, and read by an application', async () => {
  const { name, run } = bench()
  expect(await run('list')).toBe(`"${name}", version 0`)
  expect(await run('set', 'free', policy(20))).toMatch(
    /^free: \(not set\) -> \{.*"limit":20.*\}, version 1, from 20.*Z on$/,
  )
  expect(await run('set', 'free', policy(20))).toBe('free is so already, in version 1')
  expect(await run('set', 'free', policy(30))).toContain('what was used counts on')
  expect(await run('set', 'free', policy(30, '2m'))).toContain('the count begins anew')
  expect(await run('override', 'u1', policy(5))).toContain('api of "u1": (not set) -> ')
  expect(await run('override', '--under', 'org:', policy(6))).toContain('api of "org:"...: ')
  expect(await run('list')).toBe(
    [
      `"${name}", version 5`,
      `free  ${policy(30, '2m')}`,
      `api of "org:"...  ${policy(6)}`,
      `api of "u1"  ${policy(5)}`,
    ].join('\n'),
  )
  const store = strictStore(singleClient())
  const defaults = { free: slidingWindow({ name: 'api', limit: 10, window: '1m' }) }
  const live = livePolicies(store, { name, defaults })
  onTestFinished(() => live.close())
  expect(await live.refresh()).toBe(true)
  expect(await live.history()).toHaveLength(5)
  expect(await run('remove', 'api', 'u1')).toContain('-> (not set)')
  expect(await run('remove', 'api', '--under', 'org:')).toContain('-> (not set)')
  expect(await run('unset', 'free')).toContain('-> (not set)')
  expect((await run('history')).split('\n')).toHaveLength(8)
  expect((await run('history')).split('\n')[0]).toMatch(
    /^8 {2}20\S+Z {2}free {2}\{.*\} -> \(not set\)$/,
  )
})

test.each([
  ['readable', undefined],
  ['hashed', 'a secret of the tests'],
])(
  'an override of a long key holds where keys are %s, and one listed by its hash ends',
  async (_, hashKeys) => {
    vi.stubEnv('WEIR_HASH_KEYS', hashKeys)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { name, run } = bench()
    const [key, other] = ['k'.repeat(8_192), 'k'.repeat(257)]
    await run('override', key, policy(5))
    await run('override', other, policy(6))
    const store = strictStore(singleClient(), { hashKeys })
    const defaults = { free: slidingWindow({ name: 'api', limit: 10, window: '1m' }) }
    const live = livePolicies(store, { name, defaults })
    onTestFinished(() => live.close())
    expect(await live.refresh()).toBe(true)
    const held = () => [key, other, `${other}!`].map((each) => live.for('free', each).limit)
    await vi.waitFor(() => expect(held()).toEqual([5, 6, 10]), 10_000)
    const hash = `#${createHash('sha256').update(other).digest('hex')}`
    if (hashKeys === undefined) expect(await run('list')).toContain(`api of "${hash}"  `)
    await run('remove', 'api', hash)
    await vi.waitFor(() => expect(held()).toEqual([5, 10, 10]), 10_000)
  },
)

test.each([
  ['another command', ['show'], 'WEIR_INVALID_OPTION'],
  ['too few arguments', ['set', 'free'], 'WEIR_INVALID_OPTION'],
  ['too many arguments', ['set', 'free', policy(5), 'u1'], 'WEIR_INVALID_OPTION'],
  ['a prefix where none belongs', ['list', '--under', 'a'], 'WEIR_INVALID_OPTION'],
  ['no JSON', ['set', 'free', 'limit=5'], 'WEIR_INVALID_POLICY'],
  [
    'an option twice',
    ['set', 'free', policy(5).replace('}', ',"limit":6}')],
    'WEIR_INVALID_POLICY',
  ],
  [
    'a policy without a name',
    ['set', 'free', policy(5).replace('"name":"api",', '')],
    'WEIR_INVALID_POLICY',
  ],
  ['a name that is none', ['set', 'a b', policy(5)], 'WEIR_INVALID_NAME'],
  ['an empty key', ['override', '', policy(5)], 'WEIR_INVALID_KEY'],
  ['an option that there is not', ['list', '--all'], 'ERR_PARSE_ARGS_UNKNOWN_OPTION'],
])('%s is refused, and nothing is set', async (_, args, code) => {
  const { name, run } = bench()
  await expect(run(...args)).rejects.toMatchObject({ code })
  expect(await run('list')).toBe(`"${name}", version 0`)
})

test('a command without arguments is a question for help', async () => {
  for (const args of [['limits'], ['limits', 'set', '--help']])
    expect((await weir(args)).join()).toContain('weir limits set NAME POLICY')
})

test('another algorithm than is set is refused', async () => {
  const { run } = bench()
  await run('set', 'free', policy(5))
  const other = '{"algorithm":"gcra","name":"api","limit":5,"period":"1m"}'
  await expect(run('set', 'free', other)).rejects.toMatchObject({ code: 'WEIR_INVALID_POLICY' })
})

test('on a Cluster, with a prefix', async () => {
  const { name } = bench()
  const at = ['--redis', `redis://127.0.0.1:${clusterPorts[0]}`, '--cluster', '--prefix', 'app']
  const run = (...args: string[]) => weir(['limits', ...args, ...at, '--name', name])
  await run('set', 'free', policy(5))
  expect(await run('list')).toEqual([`"${name}", version 1`, `free  ${policy(5)}`])
})

test('help is printed, and a Redis that is not there is said', async () => {
  expect((await weir([])).join()).toContain('weir limits set NAME POLICY')
  const args = ['limits', 'list', '--name', 'a', '--redis', 'redis://127.0.0.1:1']
  await expect(weir(args)).rejects.toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('ECONNREFUSED'),
  })
  await expect(weir(['limit'])).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
})
