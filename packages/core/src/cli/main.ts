// The command `weir`.

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { checkedName } from '../algorithms/policy.js'
import { invalid, quote, StoreError, typeError } from '../base/errors.js'
import { settingsOf } from '../live/checks.js'
import type { RedisLike } from '../redis/client/client.js'
import { recommendedClusterOptions, recommendedRedisOptions } from '../redis/client/recommended.js'
import { redisStore } from '../redis/store.js'
import type { Settings } from '../settings.js'
import { limitsHistory, listLimits, overrideLimit, removeOverride, setLimit } from './limits.js'

const HELP = `weir limits: policies that hold for all processes, kept in Redis

  weir limits list                            what is set
  weir limits history                         the last 100 changes, the latest first
  weir limits set NAME POLICY                 sets a named policy
  weir limits unset NAME                      back to the default of the application
  weir limits override KEY POLICY             a policy of one key
  weir limits override --under PREFIX POLICY  and of all keys that begin so
  weir limits remove POLICY-NAME KEY          ends an override
  weir limits remove POLICY-NAME --under PREFIX

  --name NAME    the name of the livePolicies of the application; required
  --redis URL    default: the variable REDIS_URL, or redis://localhost:6379
  --cluster      the server is one of a Redis Cluster
  --prefix TEXT  the prefix of the store, after the keyPrefix of its client; default weir
  WEIR_HASH_KEYS, an environment variable: the hashKeys of the store, if it has one

A policy is JSON, the algorithm and the options of its factory:
  '{"algorithm":"token-bucket","name":"api","capacity":20,"refill":10,"every":"1s"}'
It holds in all processes 1.5 seconds after it was set.`

interface Client extends RedisLike {
  on(event: 'error', listener: (error: Error) => void): unknown
  disconnect(): void
}

interface Ioredis {
  readonly Redis: new (url: string, options: object) => Client
  readonly Cluster: new (urls: readonly string[], options: object) => Client
}

/** The client of the user's project. */
async function ioredis(): Promise<Ioredis> {
  try {
    const path = createRequire(`${process.cwd()}/package.json`).resolve('ioredis')
    return (await import(pathToFileURL(path).href)) as Ioredis
  } catch (cause) {
    const what = 'weir limits needs ioredis, and there is none in this folder: npm install ioredis'
    throw Object.assign(typeError('WEIR_INVALID_OPTION', what), { cause })
  }
}

const OPTIONS = {
  name: { type: 'string' },
  redis: { type: 'string' },
  prefix: { type: 'string' },
  under: { type: 'string' },
  cluster: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/**
 * @param args without the names of node and of the script
 * @returns lines to print
 */
export async function weir(args: readonly string[]): Promise<readonly string[]> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
  })
  const [group, ...command] = positionals
  if (values.help || group === undefined) return [HELP]
  if (group !== 'limits') throw unknown(group)
  if (command.length === 0) return [HELP]
  const name = checkedName(values.name as string, '--name')
  const run = commandOf(command, values.under)
  const { Redis, Cluster } = await ioredis()
  const url = values.redis ?? process.env.REDIS_URL ?? 'redis://localhost:6379'
  const client = values.cluster
    ? new Cluster([url], recommendedClusterOptions)
    : new Redis(url, { ...recommendedRedisOptions, retryStrategy: () => null })
  let trouble: Error | undefined
  client.on('error', (error) => {
    trouble = error
  })
  const { prefix } = values
  const hashKeys = process.env.WEIR_HASH_KEYS
  try {
    const store = redisStore(client, { prefix, hashKeys, deadlineMs: 10_000 })
    return await run(settingsOf(store), name)
  } catch (error) {
    if (!(error instanceof StoreError) || trouble === undefined) throw error
    const problem = `${error.message}; the client said ${quote(trouble.message)}`
    throw new StoreError('WEIR_STORE_FAILED', problem, { cause: error })
  } finally {
    client.disconnect()
  }
}

type Run = (settings: Settings, name: string) => Promise<string[]>

function commandOf([command, ...args]: readonly string[], under: string | undefined): Run {
  // A prefix stands where a key would.
  const key = under === undefined ? undefined : { prefix: under }
  const [one, two] = args
  const given = `${command} ${args.length + (key === undefined ? 0 : 1)}${key ? ' under' : ''}`
  switch (given) {
    case 'list 0':
      return listLimits
    case 'history 0':
      return limitsHistory
    case 'set 2':
      return (settings, name) => setLimit(settings, name, one as string, two)
    case 'unset 1':
      return (settings, name) => setLimit(settings, name, one as string, undefined)
    case 'override 2':
      return (settings, name) => overrideLimit(settings, name, one as string, two as string)
    case 'override 2 under':
      return (settings, name) => overrideLimit(settings, name, key ?? '', one as string)
    case 'remove 2':
      return (settings, name) => removeOverride(settings, name, one as string, two as string)
    case 'remove 2 under':
      return (settings, name) => removeOverride(settings, name, one as string, key ?? '')
    default:
      throw unknown([command, ...args].join(' '))
  }
}

function unknown(given: string | undefined): Error {
  return invalid('WEIR_INVALID_OPTION', 'command', given, 'one that weir --help names', 'string')
}
