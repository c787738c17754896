// What a client, a log or an address can put into a message of ours is escaped or left out: nothing
// forges a line of a log, moves a terminal's cursor, or shows a password.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { limitsFrom, livePolicies } from '../src/entries/live.js'
import { resilient } from '../src/entries/store.js'
import type { Decision, Store } from '../src/index.js'
import { fixedWindow, memoryStore, policyFrom, RateLimiter, redisStore } from '../src/index.js'
import type { Settings } from '../src/settings.js'
import { FakeResponse, limitOn } from './http/exchange.js'

/** Line breaks, colours, a text that is written backwards, quotes, and addresses. */
const SECRET = 'hunter2'
const USER = `ann:${SECRET}@h`
const HOSTILE = `x\r\n\u001b[31m\u202e\u2028"\\ /${USER} redis://${USER} //${USER}`

const policy = fixedWindow({ name: 'all', limit: 5, window: '1m' })

let count = 0
/** A limiter's name that no other test has, so that each warning is given. */
const name = (): string => {
  count += 1
  return `messages-${count}`
}

const failing = (): Store => ({
  decide: () => Promise.reject(new Error(HOSTILE)),
  reset: () => Promise.reject(new Error(HOSTILE)),
})

/** A request to a limiter with these options, and the end of its response. */
async function ask(options: object): Promise<void> {
  const { send } = limitOn({ name: name(), policy, key: () => 'k', ...options } as never)
  const response = new FakeResponse()
  await send({}, response)
  await response.end()
}

const limiter = (options: object = {}): RateLimiter =>
  new RateLimiter({ name: name(), policy, ...options } as never)

const fails = () => {
  throw new Error(HOSTILE)
}

/** Its warning is given once in a process, so this returns what its listener hears. */
async function failedSource(): Promise<string> {
  let heard = ''
  const { policy: chosen } = limitsFrom({
    load: () => Promise.reject(HOSTILE),
    default: policy,
    onFailure: ({ message }) => {
      heard = message
    },
  })
  await limiter({ policy: chosen }).consume('k')
  return heard
}

/** Each makes a message of what somebody else wrote: as an error, as a warning, or by returning
 *  it. */
const SOURCES: readonly (readonly [string, () => unknown])[] = [
  ['a key that is too long', () => limiter().consume(HOSTILE.repeat(500))],
  ['a key that is none', () => limiter().consume({ [HOSTILE]: 1 } as never)],
  ['a cost', () => limiter().consume('k', { cost: HOSTILE as never })],
  ['a cost by a name', () => limiter().consume('k', { cost: { [HOSTILE]: 1 } })],
  [
    'a class',
    () => limiter({ reserve: { low: 0.5 } }).consume('k', { priority: HOSTILE as never }),
  ],
  ['an option', () => limiter().consume('k', { [HOSTILE]: 1 } as never)],
  [
    'a decision',
    () => limiter().refund(HOSTILE as unknown as Decision, { cost: HOSTILE as never }),
  ],
  ['what a key function returns', () => ask({ key: () => ({ [HOSTILE]: 1 }) })],
  ['what a class function returns', () => ask({ reserve: { low: 0.5 }, priority: () => HOSTILE })],
  ['what a policy function throws', () => limiter({ policy: fails }).consume('k')],
  ['what a policy function returns', () => limiter({ policy: () => HOSTILE }).consume('k')],
  ['what refundWhen throws', () => ask({ refundWhen: fails })],
  ['what settle throws', () => ask({ settle: fails })],
  ['what onDecision throws', () => limiter({ onDecision: fails }).consume('k')],
  [
    'what a store throws',
    () => limiter({ store: resilient(failing(), { whenUnavailable: 'throw' }) }).consume('k'),
  ],
  ['what a source of limits throws', failedSource],
  ['a policy of JSON', () => policyFrom(HOSTILE)],
  ['an algorithm of JSON', () => policyFrom({ algorithm: HOSTILE } as never)],
  ['an option of JSON', () => policyFrom({ algorithm: 'gcra', [HOSTILE]: 1 } as never)],
  ['a name', () => limiter({ name: HOSTILE })],
  ['an address instead of a client', () => redisStore(HOSTILE as never)],
  ['an address instead of a store', () => limiter({ store: HOSTILE })],
  ['a live policy by a name', () => lives((live) => live.for(HOSTILE as never), '')],
  ['a stored policy', () => lives((live) => live.for('all'), HOSTILE)],
  ['what a store of settings throws', () => lives((live) => live.set('all', policy))],
]

/** Live policies of whose store somebody has written this value, or whose store fails. */
async function lives(
  use: (live: ReturnType<typeof livePolicies>) => unknown,
  written?: string,
): Promise<void> {
  const store = memoryStore()
  const settings = store.settings as Settings
  const of = name()
  if (written !== undefined) {
    const change = { id: 'by hand', leadUs: 0, field: '.all', value: written, most: 1 }
    await settings.change(of, change)
  }
  const failingSettings: Settings = {
    ...settings,
    news: async () => fails(),
    report: async () => fails(),
  }
  const own = { ...store, settings: written === undefined ? failingSettings : settings }
  const live = livePolicies(own, { name: of, defaults: { all: policy } })
  onTestFinished(() => live.close())
  await live.refresh()
  await use(live)
}

function checkShown(message: string): void {
  expect(message).toMatch(/^[\x20-\x7e…]+$/)
  expect(message).not.toContain(SECRET)
}

test.each(SOURCES)('%s cannot forge a line or show a password', async (_, make) => {
  const messages: string[] = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((text: string) => {
    messages.push(text)
  }) as typeof process.emitWarning)
  onTestFinished(() => warn.mockRestore())
  try {
    const told = await make()
    if (typeof told === 'string') messages.push(told)
  } catch (error) {
    // What an application's own function throws is the application's.
    if (String((error as { code?: unknown }).code).startsWith('WEIR_'))
      messages.push((error as Error).message)
  }
  await new Promise((done) => setImmediate(done))
  for (const message of messages) checkShown(message)
  SEEN.push(messages.length)
})
const SEEN: number[] = []

test('each of these sources has made a message', () => {
  expect(SEEN).toHaveLength(SOURCES.length)
  expect(SOURCES.filter((_, i) => SEEN[i] === 0).map(([what]) => what)).toEqual([])
})

const packages = resolve(import.meta.dirname, '../..')
/** Where a message is quoted, or only looked at. */
const SAFE = [
  /\b(quote|shown|printed)\([^()]*(\([^()]*\)[^()]*)*\)/g,
  /\.(test|exec)\(.*\)/g,
  /\.message\.startsWith/g,
]

/** Files with lines that repeat the message of an error, which is one of Weir's there, or the
 *  system's of its own output. */
const OURS: readonly string[] = [
  'core/src/cli/bin.ts',
  'core/src/cli/bin.ts',
  'core/src/cli/open-store.ts',
  'core/src/layers/resilience/failures.ts',
  'core/src/layers/resilience/failures.ts',
  'core/src/live/held.ts',
  'core/src/live/process.ts',
  'core/src/live/process.ts',
  'core/src/redis/permissions.ts',
  'dashboard/src/act/act.ts',
  'nest/src/exception.ts',
  'nest/src/registry.ts',
  'simulate/src/limiters.ts',
]

test('in every package, the message of an error is quoted where it is not one of ours', () => {
  const found = readdirSync(packages).flatMap((each) => {
    const src = join(packages, each, 'src')
    return readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => /^(?!page\/).*(?<!generated)\.ts$/.test(file))
      .flatMap((file) => {
        const lines = readFileSync(join(src, file), 'utf8').split('\n')
        return lines.map((line) => `${each}/src/${file} ${line.trim()}`)
      })
  })
  expect(found.length).toBeGreaterThan(10_000)
  const raw = found.filter((line) => {
    return /\.message\b/.test(SAFE.reduce((rest, safe) => rest.replace(safe, ''), line))
  })
  expect(raw.map((line) => line.split(' ', 1).join()).sort(), raw.join('\n')).toEqual(OURS)
})
