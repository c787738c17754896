// What `weir why` refuses before it asks Redis, with exit code 2, and a hint at what is right.

import { expect, test } from 'vitest'
import { ask, policiesFile } from './why-bench.js'

const NOWHERE = ['--redis', 'redis://127.0.0.1:1']

test.each<[string, readonly string[], string]>([
  ['no key', ['--policy', 'p.mjs'], '--key is missing; say who is limited: --key u42'],
  ['an empty key', ['--key', '', '--policy', 'p.mjs'], '--key is missing'],
  [
    'no policies',
    ['--key', 'u42'],
    'no policies are given; give --policy FILE with those that limit the key',
  ],
  [
    'no limiter',
    ['--key', 'u42', '--name', 'plans'],
    "a limiter without a name is called 'default'",
  ],
  ['a cost that is none', ['--key', 'u', '--policy', 'p', '--cost', '1.5'], 'give a whole number'],
  ['a negative cost', ['--key', 'u', '--policy', 'p', '--cost=-1'], 'give a whole number from 0'],
  ['one hash tag', ['--key', 'u', '--policy', 'p', '--hash-tags', '1'], 'from 2 to 1024'],
  ['a policy key without a key', ['--key', 'u', '--policy', 'p', '--policy-key', 'a='], 'org=acme'],
  ['a policy key alone', ['--key', 'u', '--policy', 'p', '--policy-key', 'acme'], 'org=acme'],
  ['an argument', ['u42', '--policy', 'p'], 'options alone: weir why --key KEY'],
  ['an unknown option', ['--keys', 'u42'], "Unknown option '--keys'"],
  ['an address as an option, cut to its scheme,', ['--redis://:pw@h'], "option '--redis:… (see"],
])('%s is refused', async (_, args, message) => {
  await expect(ask(...args, ...NOWHERE)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining(message),
  })
})

test('help is printed on request, and without arguments', async () => {
  for (const args of [[], ['--help'], ['--key', 'u', '-h']]) {
    const { code, text } = await ask(...args)
    expect(code).toBe(0)
    expect(text).toContain('\nExit codes: 0 the request would pass; 3 it would be refused;')
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  }
})

const asked = (exported: string, ...more: readonly string[]) =>
  ask('--key', 'u42', '--policy', policiesFile(exported), ...more, ...NOWHERE)

test('a limiter that is not in the file is refused, with the names of those that are', async () => {
  const limiters = "{ api: slidingLog({ limit: 5, window: '1h' }), login: unlimited({}) }"
  await expect(asked(limiters, '--limiter', 'apu')).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/--limiter is "apu"; give one that ".*" has: "api", "login"/),
  })
})

test.each([
  ['5', 'its default export'],
  ['[]', 'its default export'],
  ['{}', 'its default export'],
  ['{ api: 5 }', 'what it has for "api"'],
  ["{ 'a\\u001bb': null }", 'what it has for "a\\u001bb"'],
  ['{ api: [5] }', 'what it has for "api"'],
  ['{ api: { policy: {} } }', 'what it has for "api"'],
  [
    "{ api: { policy: slidingLog({ limit: 5, window: '1h' }), limit: 5 } }",
    'what it has for "api"',
  ],
])('a file that exports %s has no policies', async (exported, what) => {
  await expect(asked(exported)).rejects.toMatchObject({
    code: 'WEIR_INVALID_POLICY',
    exitCode: 2,
    message: expect.stringContaining(`${what} in `),
  })
})

test.each([
  ['{ api: { limit: 5 } }', /limiter "api" in ".*": sliding-window: window is undefined; give /],
  ["{ api: { window: '1m' } }", /limiter "api" in ".*": sliding-window: limit is undefined; give /],
  [
    "{ api: { limit: () => 5, window: '1m' } }",
    /limiter "api" in ".*": sliding-window: limit is a function/,
  ],
])('a limit and a window that are wrong are refused: %s', async (exported, message) => {
  await expect(asked(exported)).rejects.toMatchObject({ code: 'WEIR_INVALID_POLICY', exitCode: 2 })
  await expect(asked(exported)).rejects.toThrow(message)
})

test.each([
  ["{ api: { policy: () => { throw new Error('no plan') } } }", 'threw no plan ('],
  ["{ api: { policy: async () => { throw new Error('no plan') } } }", 'threw no plan ('],
  ['{ api: { policy: () => 5 } }', 'chose 5, which is no policy'],
])('a policy function that fails is reported: %s', async (exported, message) => {
  await expect(asked(exported)).rejects.toMatchObject({
    code: 'WEIR_POLICIES_FAILED',
    message: expect.stringContaining(`the policy function of "api" in `),
  })
  await expect(asked(exported)).rejects.toThrow(message)
})
