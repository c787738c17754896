// What tests of `weir why` share: policies files, stores of an application, the command.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type PolicyInput,
  RateLimiter,
  type RateLimiterOptions,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import type { RedisLike } from '@weir/core/store'
import { waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { openStore } from '../../core/src/cli/open-store.js'
import { why } from '../src/why/why.js'

const CORE = import.meta.resolve('@weir/core')

let files = 0

/** A module with policies, whose default export is this JavaScript. */
export function policiesFile(exported: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-why-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  files += 1
  const file = join(folder, `policies-${files}.mjs`)
  const names = [...new Set(exported.match(/\b[a-z]\w+(?=\(\{)/g))].join(', ')
  writeFileSync(file, `import { ${names} } from '${CORE}'\nexport default ${exported}\n`)
  return file
}

/** The default export of a policies file. */
export async function policiesIn<Of = PolicyInput>(file: string): Promise<Of> {
  return ((await import(pathToFileURL(file).href)) as { default: Of }).default
}

export async function clientAt(port: number): Promise<Redis> {
  const client = new Redis(port, recommendedRedisOptions)
  onTestFinished(() => client.disconnect())
  await waitUntil('the client is ready', async () => client.status === 'ready')
  return client
}

/** The store of an application, on which only Redis decides. */
export function storeOf(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  const strict = { whenUnavailable: 'throw', deadlineMs: 20_000, denyCache: false } as const
  const store = redisStore(client, { ...strict, ...options })
  onTestFinished(() => store.close())
  return store
}

/** The same store by a clock behind the server's: its changes of live policies hold at once. */
export function earlier(client: RedisLike, options: RedisStoreOptions = {}): RedisStore {
  return storeOf(client, { ...options, clock: { nowUs: () => (Date.now() - 2_000) * 1_000 } })
}

export function limiterOf(
  store: RedisStore,
  policy: RateLimiterOptions['policy'],
  name?: string,
): RateLimiter {
  return new RateLimiter({ ...(name !== undefined && { name }), store, policy, shared: true })
}

export interface Said {
  readonly code: number
  readonly text: string
}

/** The command, as the bin of @weir/core calls it. */
export function ask(...args: readonly string[]): Promise<Said> {
  return askUntil(new AbortController().signal, ...args)
}

/** The command loads the client of the folder in which it runs, which threads cannot change. */
const openedHere: typeof openStore = async (...given) => {
  const { cwd } = process
  process.cwd = () => resolve(import.meta.dirname, '..')
  try {
    return await openStore(...given)
  } finally {
    process.cwd = cwd
  }
}

export async function askUntil(signal: AbortSignal, ...args: readonly string[]): Promise<Said> {
  const lines: string[] = []
  const io = { out: (line: string) => void lines.push(line), env: process.env, signal }
  const code = await why(args, io, { openStore: openedHere })
  return { code, text: lines.join('\n') }
}

export interface PolicySaid {
  readonly name: string
  readonly algorithm: string
  readonly key?: string
  readonly passes: boolean
  readonly cost: number
  readonly limit: number | null
  readonly used: number
  readonly remaining: number | null
  readonly retryAfterMs: number | null
  readonly resetAfterMs: number
  readonly block?: { readonly level: number; readonly isBlocked: boolean }
  readonly turns?: { readonly units: number; readonly nextMs: number }
  readonly live?: Readonly<Record<string, unknown>>
  readonly policy: object
  readonly inFile?: object
}

export interface JsonSaid {
  readonly code: number
  readonly wouldPass: boolean
  readonly limiters: readonly {
    readonly name: string
    readonly wouldPass: boolean
    readonly isNewKey: boolean
    readonly retryAfterMs: number | null
    readonly policies: readonly PolicySaid[]
  }[]
  readonly live?: { readonly version: number; readonly processes: number; readonly notes: string[] }
  readonly hint?: string
  readonly unknown: readonly string[]
}

/** The same with `--json`, parsed. */
export async function askJson(...args: readonly string[]): Promise<JsonSaid> {
  const { code, text } = await ask(...args, '--json')
  return { code, ...(JSON.parse(text) as Omit<JsonSaid, 'code'>) }
}
