// The command `weir limits`, on a real Redis.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { waitUntil } from '@weir/testkit'
import { expect, onTestFinished, test, vi } from 'vitest'
import { checkedAddress } from '../../src/cli/address.js'
import { weir } from '../../src/cli/main.js'
import type { LivePolicies } from '../../src/entries/live.js'
import type { RedisLike } from '../../src/entries/store.js'
import { gcra, type Policy, type RedisStoreOptions, slidingWindow } from '../../src/index.js'
import { livePolicies } from '../../src/live/live-policies.js'
import type { Settings } from '../../src/settings.js'
import { clusterClient, singleClient, strictStore } from './clients.js'
import { workerRedis } from './servers.js'

const execute = promisify(execFile)
const { port, clusterPorts } = workerRedis()
const policy = (limit: number, window = '1m', name = 'api') =>
  JSON.stringify({ algorithm: 'sliding-window', name, limit, window })
const api = (limit: number, window: '1m' | '2m' = '1m') =>
  slidingWindow({ name: 'api', limit, window })

/** The project of the command, wherever the tests are started. */
const project = join(import.meta.dirname, '../..')
vi.spyOn(process, 'cwd').mockReturnValue(project)

let runs = 0

/** Warnings that a test expects. */
function warnings(): () => readonly string[] {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => emitted.mockRestore())
  return () => emitted.mock.calls.map(([, options]) => (options as { code: string }).code)
}

interface Bench {
  readonly name: string
  /** Starts a process of the application, which reports its policies. */
  start(defaults?: Record<string, Policy>): Promise<LivePolicies>
  run(...args: string[]): Promise<string>
}

interface Options {
  readonly args?: readonly string[]
  readonly client?: () => RedisLike
  readonly store?: RedisStoreOptions
}

/** The command, with separate settings. */
function bench({ args = [], client = singleClient, store = {} }: Options = {}): Bench {
  runs += 1
  const name = `cli-${runs}-${Date.now()}`
  const at = args.length > 0 ? args : ['--redis', `redis://127.0.0.1:${port}`]
  const run = async (...command: string[]) =>
    (await weir(['limits', ...command, ...at, '--name', name])).join('\n')
  return {
    name,
    run,
    async start(defaults = { free: api(10) }) {
      const own = strictStore(client(), store)
      const live = livePolicies(own, { name, defaults })
      onTestFinished(async () => {
        live.close()
        await own.close()
      })
      await live.refresh()
      const names = Object.keys(defaults)
      await waitUntil('the process has reported', async () => {
        const listed = await run('list')
        return names.every((each) => listed.includes(each)) && !listed.includes(', 0 processes')
      })
      return live
    },
  }
}

const invalidName = { code: 'WEIR_INVALID_NAME' }
const invalidPolicy = { code: 'WEIR_INVALID_POLICY' }

test('set policies are listed, recorded in the history, and read by an application', async () => {
  const { name, run, start } = bench()
  expect(await run('list')).toContain(`"${name}", version 0, 0 processes`)
  const live = await start()
  expect(await run('list')).toBe(
    `"${name}", version 0, 1 process\nfree  ${policy(10)}; the default`,
  )
  expect(await run('set', 'free', policy(20))).toMatch(
    /^free: \(not set\) -> \{.*"limit":20.*\}, version 1, from 20.*Z on; what was used counts on$/,
  )
  expect(await run('set', 'free', policy(20))).toBe(
    `free: ${policy(20)} already, nothing changed, version 1`,
  )
  expect(await run('set', 'free', policy(30))).toContain('what was used counts on')
  expect(await run('set', 'free', policy(30, '2m'))).toContain('the count begins anew')
  expect(await run('override', 'u1', policy(5))).toContain('api of "u1": (not set) -> ')
  expect(await run('override', '--under', 'org:', policy(6))).toContain('api of "org:"...: ')
  await waitUntil('the process is at version 5', async () => {
    return !(await run('list')).includes('is at version')
  })
  expect(await run('list')).toBe(
    [
      `"${name}", version 5, 1 process`,
      `api of "org:"...  ${policy(6)}`,
      `api of "u1"  ${policy(5)}`,
      `free  ${policy(30, '2m')}`,
    ].join('\n'),
  )
  expect(await live.refresh()).toBe(true)
  expect(await live.history()).toHaveLength(5)
  expect(await run('remove', 'u1')).toContain('-> (not set)')
  expect(await run('remove', '--under', 'org:', 'api')).toContain('-> (not set)')
  expect(await run('unset', 'free')).toContain('-> (not set)')
  expect((await run('history')).split('\n')).toHaveLength(8)
  expect((await run('history')).split('\n')[0]).toMatch(
    /^8 {2}20\S+Z {2}free {2}\{.*\} -> \(not set\)$/,
  )
})

test('a policy that no process would follow is refused before it is written, with what would be right', async () => {
  const { name, run, start } = bench()
  const unknown = `no process has reported livePolicies named "${name}" in the last 15 s`
  await expect(run('set', 'free', policy(5))).rejects.toThrow(unknown)
  await expect(run('override', 'u1', policy(5))).rejects.toMatchObject({
    code: 'WEIR_INVALID_OPTION',
  })
  await start({ free: api(10), pro: api(100) })
  const wrong: readonly (readonly [readonly string[], object, string])[] = [
    [['set', 'fre', policy(5)], invalidName, 'give one of "free", "pro", or --force'],
    [['unset', 'fre'], invalidName, 'one of "free", "pro"'],
    [['set', 'free', policy(5, '1m', 'calls')], invalidPolicy, 'a policy of the name "api"'],
    [
      ['set', 'free', '{"algorithm":"gcra","name":"api","limit":5,"period":"1m"}'],
      invalidPolicy,
      'the algorithm sliding-window',
    ],
    [['set', 'free', '{"algorithm":"unlimited","name":"api"}'], invalidPolicy, 'sliding-window'],
    [['override', 'u1', policy(5, '1m', 'calls')], invalidName, 'one of "api"'],
    [['remove', 'u1', 'calls'], invalidName, 'one of "api"'],
  ]
  for (const [args, error, message] of wrong) {
    const refused = expect(run(...args)).rejects
    await refused.toMatchObject({ ...error, message: expect.stringContaining(message) })
  }
  expect(await run('history')).toContain('has never been changed')
  expect(await run('override', 'u1', '{"algorithm":"unlimited","name":"api"}')).toMatch(
    /version 1, from 20\S+Z on$/,
  )
})

test('with --force it is written, listed as followed nowhere, and can be corrected', async () => {
  const codes = warnings()
  const { run, start } = bench()
  const wrong = '{"algorithm":"gcra","name":"api","limit":5,"period":"1m"}'
  await run('set', 'free', wrong, '--force')
  await run('set', 'fre', policy(5), '--force')
  const live = await start()
  await waitUntil('the process reports that it refuses', async () => {
    return (await run('list')).includes('refused')
  })
  const [, fre, free] = (await run('list')).split('\n')
  expect(fre).toBe(`fre  ${policy(5)}; no process has a policy of this name`)
  expect(free).toContain('; refused in 1 of 1 processes: policy is ')
  expect((await live.list()).processes[0]?.refused).toMatchObject([
    { kind: 'policy', name: 'free', why: expect.stringContaining('the algorithm sliding-window') },
  ])
  expect(await run('set', 'free', policy(20))).toContain('version 3')
  expect(await run('unset', 'fre')).toContain('version 4')
  await waitUntil('it holds', async () => live.for('free').limit === 20)
  await waitUntil('nothing is refused', async () => !(await run('list')).includes('refused'))
  expect(codes()).toEqual(['WEIR_SETTING_REFUSED'])
})

test('processes with other policies, or another version, are distinguished', async () => {
  const { name, run, start } = bench()
  const old = await start({ free: api(10) })
  await start({ free: api(20), team: api(50) })
  expect(await run('set', 'team', policy(60))).toContain('version 1')
  old.close()
  await start({ free: gcra({ name: 'other', limit: 5, period: '1m' }) })
  await expect(run('set', 'free', policy(5))).rejects.toMatchObject(invalidPolicy)
  const listed = await run('list')
  expect(listed).toContain(`"${name}", version 1, 2 processes`)
  expect(listed).toContain(`team  ${policy(60)}; 1 of 2 processes have no policy of this name`)
  expect(listed).toContain(`free  ${policy(20)}; the default of 1 of 2 processes`)
  expect(await run('set', 'team', policy(70))).toContain('version 2')
  expect(await run('list')).toMatch(/\S+-\d+-\w+ is at version [01](, [12] more to come)?$/m)
})

test('a process that cannot follow a set policy is listed, until it can', async () => {
  const codes = warnings()
  const { name, run } = bench()
  const own = strictStore(singleClient())
  const { news, ...others } = own.settings as Settings
  let isCut = false
  const settings: Settings = {
    ...others,
    news: async (...args) => {
      if (isCut) throw new Error('cut off')
      return news(...args)
    },
  }
  const live = livePolicies({ ...own, settings }, { name, defaults: { free: api(10) } })
  onTestFinished(async () => {
    live.close()
    await own.close()
  })
  await waitUntil('it has reported', async () => (await run('list')).includes('1 process'))
  isCut = true
  // Although nothing has been set yet.
  await waitUntil('it is listed', async () => {
    return (await run('list')).endsWith(' is at version 0, and cannot follow')
  })
  await run('set', 'free', policy(20))
  isCut = false
  await waitUntil('it follows', async () => !(await run('list')).includes('is at version'))
  expect(live.for('free').limit).toBe(20)
  expect(codes()).toEqual(['WEIR_SETTINGS_UNREAD'])
})

test('a rollback restores everything to a version, and can be rolled back', async () => {
  const { run, start } = bench()
  const live = await start({ free: api(10), pro: api(100) })
  await run('set', 'free', policy(20))
  await run('override', 'u1', policy(0))
  await run('set', 'free', policy(30))
  await run('remove', 'u1')
  await run('set', 'pro', policy(200))
  expect((await run('rollback', '2')).split('\n')).toEqual([
    expect.stringMatching(/^pro: \{.*200.*\} -> \(not set\), version 6/),
    expect.stringMatching(/^api of "u1": \(not set\) -> \{.*"limit":0.*\}, version 7/),
    expect.stringMatching(/^free: \{.*30.*\} -> \{.*20.*\}, version 8/),
  ])
  await waitUntil('it holds', async () => live.status().version === 8)
  expect([live.for('free').limit, live.for('free', 'u1').limit, live.for('pro').limit]).toEqual([
    20, 0, 100,
  ])
  expect(await live.rollback(5)).toMatchObject([
    { name: 'api', key: 'u1', policy: undefined, isChanged: true },
    { name: 'free', policy: api(30) },
    { name: 'pro', policy: api(200) },
  ])
  expect(await run('rollback', '11')).toMatch(/^".*" is already at version 11$/)
  for (const version of ['12', '1.5', 'x', ''])
    await expect(run('rollback', version)).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
  await expect(live.rollback(12)).rejects.toThrow('give a whole number from 0 to 11')
  await expect(live.rollback(Number.NaN)).rejects.toMatchObject({ code: 'WEIR_INVALID_OPTION' })
})

test('a rollback to policies that no longer fit is refused as a whole', async () => {
  warnings()
  const { run, start } = bench()
  await run('set', 'free', '{"algorithm":"gcra","name":"api","limit":5,"period":"1m"}', '--force')
  const live = await start({ free: api(10), pro: api(100) })
  await run('set', 'pro', policy(200))
  await run('set', 'free', policy(20))
  await expect(run('rollback', '1')).rejects.toMatchObject(invalidPolicy)
  await expect(live.rollback(1)).rejects.toMatchObject(invalidPolicy)
  expect((await live.list()).version).toBe(3)
})

test('what somebody wrote by hand is printed without terminal control characters', async () => {
  const { name, run } = bench()
  const fields = ['.a\u001b[31mb', '=api:"k\u009b31m"', '=api*"\u202eüser"', 'two\nlines']
  const client = singleClient()
  for (const field of fields) await client.hset(`weir:{settings:${name}}`, field, 'x\u001b')
  const listed = await run('list')
  expect(listed).not.toMatch(/[^\P{C}\n]/u)
  expect(listed).toContain('api of "\\u202eüser"...  x\\u001b')
  expect(listed.split('\n')).toHaveLength(4)
})

test('settings without processes and history are reported as such, and requests that would change nothing also', async () => {
  const { name, run, start } = bench()
  expect(await run('list')).toBe(
    `"${name}", version 0, 0 processes in the last 15 s; are --name, --redis and --prefix right?`,
  )
  expect(await run('history')).toBe(`"${name}" has never been changed`)
  await expect(run('rollback', '0')).rejects.toThrow('no process has reported')
  expect(await run('rollback', '0', '--force')).toBe(`"${name}" is already at version 0`)
  await start()
  expect(await run('rollback', '0')).toBe(`"${name}" is already at version 0`)
  expect(await run('remove', 'u1')).toBe(
    'api of "u1": (not set) already, nothing changed, version 0',
  )
})

test('an override is removed by its key alone, unless the key has several', async () => {
  const { run } = bench()
  await run('override', 'u1', policy(5), '--force')
  await run('override', 'u1', policy(5, '1m', 'calls'), '--force')
  await run('override', '--under', 'u1', policy(6), '--force')
  await expect(run('remove', 'u1')).rejects.toThrow('give it after the key: one of "api", "calls"')
  expect(await run('remove', 'u1', 'calls')).toContain('calls of "u1": ')
  expect(await run('remove', 'u1')).toContain('api of "u1": ')
  expect(await run('remove', '--under', 'u1')).toContain('api of "u1"...: ')
  await expect(run('remove', 'u1')).rejects.toMatchObject(invalidName)
})

test('a project that has neither ioredis nor node-redis is told what to install', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'weir-project-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  // Packages would also be looked for there.
  const env = { ...process.env, NODE_PATH: '' }
  const args = [join(project, 'dist/cli.cjs'), 'limits', 'list', '--name', 'a']
  const { stdout, stderr } = await execute(process.execPath, args, { cwd, env }).catch((e) => e)
  const what = 'weir needs ioredis or redis, and there is neither in this folder'
  expect(stdout + stderr).toContain(what)
})

const ADDRESSES = [
  'tcp://ann:hunter2@127.0.0.1:1',
  'redis+tls://ann:hunter2@127.0.0.1:1',
  '"redis://ann:hunter2@127.0.0.1:1"',
  "'redis://ann:hunter2@127.0.0.1:1'",
  ' redis://ann:hunter2@127.0.0.1:1',
  'redis:/ann:hunter2@127.0.0.1:1',
  'redis:ann:hunter2@127.0.0.1:1',
  'hunter2://ann@127.0.0.1:1/',
  'ann:hunter2@127.0.0.1:1',
  '//ann:hunter2@127.0.0.1:1',
  '/ann:hunter2@127.0.0.1:1',
  'redis://ann:hunter2/3@127.0.0.1:1',
  'redis://ann:3#hunter2@127.0.0.1:1',
  'redis://ann:3?hunter2@127.0.0.1:1',
  'redis://ann:hunter2%zz@127.0.0.1:1',
  'redis://ann:hunter2@127.0.0.1:99999',
  'redis://ann:hunter2@127.0.0.1:1/first',
] as const

test.each(ADDRESSES)(
  'a mistyped address, %s, is refused, and nothing of it is printed',
  async (url) => {
    vi.stubEnv('REDIS_URL', url)
    onTestFinished(() => void vi.unstubAllEnvs())
    const list = ['limits', 'list', '--name', 'a']
    const ways = [['--redis', url], ['--redis', url, '--cluster'], [], [`--${url}`]]
    const errors = await Promise.all(
      ways.map((way) => weir([...list, ...way]).catch((failure: Error) => failure)),
    )
    const refused = { code: 'WEIR_INVALID_OPTION' }
    const unknown = { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION', exitCode: 2 }
    expect(errors).toMatchObject([refused, refused, refused, unknown])
    const [byOption, , byVariable, option] = errors.map((error) => inspect(error))
    expect(
      errors
        .slice(0, 3)
        .map((error) => inspect(error))
        .join(),
    ).not.toMatch(/hunter2(?!:")|ann|127/)
    expect(byOption).toContain('--redis ')
    expect(byVariable).toContain('REDIS_URL ')
    expect(option).not.toMatch(/hunter2(?!:…)|ann(?!:…)|127/)
  },
)

test('an address with another scheme is refused with the scheme, and the schemes that clients know', async () => {
  const refused = weir(['limits', 'list', '--name', 'a', '--redis', 'tcp://127.0.0.1'])
  await expect(refused).rejects.toThrow(
    '--redis begins with "tcp:"; give redis://, rediss://, valkey:// or valkeys://',
  )
})

test.each([
  [
    'valkey:// and valkeys:// are redis:// and rediss://',
    'valkey://ann:pw@h:1/2',
    'redis://ann:pw@h:1/2',
  ],
  ['capitals are small letters', 'VALKEYS://h', 'rediss://h'],
  ['a backslash in a password is encoded', 'redis://ann:p\\w@h', 'redis://ann:p%5Cw@h'],
  ['a line feed after it is dropped', 'redis://ann:pw@h:1\n', 'redis://ann:pw@h:1'],
  ['a host is a URL', 'redis.inside', 'redis://redis.inside'],
  ['a host with a port is a URL', '127.0.0.1:6379', 'redis://127.0.0.1:6379'],
  ['a port is one of this host', '6379', 'redis://localhost:6379'],
  ['the path of a socket stays', '/run/redis/redis.sock', '/run/redis/redis.sock'],
])('of addresses, %s', (_, given, address) => {
  expect(checkedAddress('--redis', given)).toBe(address)
})

test.each([
  [['limits', 'list'], '--name is missing; give the name of the livePolicies'],
  [['limit'], 'one that weir --help names'],
  [['limits', 'show', '--name', 'a'], 'one that weir --help names'],
  [['limits', 'list', '--all'], "Unknown option '--all'"],
  [['limits', 'remove', '--\u001b[31m'], "option '--\\u001b[31m'"],
  [['limits', 'set', 'free'], 'command is "set free"; give weir limits set NAME POLICY'],
  [['limits', 'list', 'free'], 'give weir limits list'],
  [['limits', 'rollback'], 'give weir limits rollback VERSION'],
  [
    ['limits', 'override', 'u1'],
    'give weir limits override KEY POLICY, or weir limits override --under PREFIX POLICY',
  ],
])('%j is no command: it ends with code 2, and says what to give', async (args, message) => {
  await expect(weir(args)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining(message),
  })
})

test.each([
  ['readable', undefined],
  ['hashed', 'a secret of the tests'],
])(
  'an override of a long key applies if keys are %s, and can be removed by the listed hash',
  async (_, hashKeys) => {
    vi.stubEnv('WEIR_HASH_KEYS', hashKeys)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { run, start } = bench({ store: { hashKeys } })
    const live = await start()
    const [key, other] = ['k'.repeat(8_192), 'k'.repeat(257)]
    await run('override', key, policy(5))
    await run('override', other, policy(6))
    const held = () => [key, other, `${other}!`].map((each) => live.for('free', each).limit)
    await vi.waitFor(() => expect(held()).toEqual([5, 6, 10]))
    const hash = `#${createHash('sha256').update(other).digest('hex')}`
    if (hashKeys === undefined) expect(await run('list')).toContain(`api of "${hash}"  `)
    await run('remove', hash)
    await vi.waitFor(() => expect(held()).toEqual([5, 10, 10]))
  },
)

test.each([
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
])('%s is refused, and nothing is set', async (_, args, code) => {
  const { name, run } = bench()
  await expect(run(...args, '--force')).rejects.toMatchObject({ code })
  expect(await run('list')).toContain(`"${name}", version 0, 0 processes`)
})

test('on a Cluster, with a prefix', async () => {
  const args = ['--redis', `redis://127.0.0.1:${clusterPorts[0]}`, '--cluster', '--prefix', 'app']
  const { name, run, start } = bench({ args, client: clusterClient, store: { prefix: 'app' } })
  await start()
  await run('set', 'free', policy(5))
  expect(await run('list')).toContain(`"${name}", version 1, 1 process\nfree  ${policy(5)}`)
})

test('a Redis that cannot be reached is reported', async () => {
  const args = ['limits', 'list', '--name', 'a', '--redis', 'redis://127.0.0.1:1']
  await expect(weir(args)).rejects.toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('ECONNREFUSED'),
  })
})
