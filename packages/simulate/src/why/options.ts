// The options of `weir why`, and its help.

import { parseArgs } from 'node:util'
import { misuse, misused, misusedOptions } from '../errors.js'
import type { StorePlace } from './tools.js'

export const HELP = `weir why: why a key is refused, or whether it would be, by what Redis has counted

  weir why --key KEY --policy FILE              by the policies in a file
  weir why --key KEY --name NAME --limiter NAME by the policies that processes publish

  --key KEY           who is limited, as the limiter's option key says: u42, 203.0.113.7
  --policy FILE       a module whose default export is a policy, a list of policies, or an object
                      of these by limiter name. Names, algorithms and windows are those of the
                      application. For a middleware with limit and window, give them as it takes
                      them: { hello: { limit: 5, window: '10s' } }
  --name NAME         the name of the application's livePolicies. If --policy is also given, the
                      policies that are set take precedence, and the answer says where they differ
  --limiter NAME      the limiter's name; default: all limiters in the file
  --policy-key P=KEY  the policy key of policy P: org=acme. Once for each policy that has one
  --policy-tag P=TAG  the policy key's tag, if it has one, on a Cluster
  --cost N            what the request costs; default 1
  --json              prints JSON, for programs

  --redis URL         default: the variable REDIS_URL, or redis://localhost:6379
  --cluster           the server belongs to a Redis Cluster
  --prefix TEXT       the store's prefix, after its client's keyPrefix; default weir
  --hash-tags N       the store's hashTags, if it has them
  WEIR_HASH_KEYS, an environment variable: the store's hashKeys, if it has one

The command only reads, and does not count among the processes that share the limits.

Exit codes: 0 the request would pass; 3 it would be refused; 1 Redis failed, or
nothing is known by the name; 2 the command is wrong.`

const OPTIONS = {
  key: { type: 'string' },
  policy: { type: 'string' },
  name: { type: 'string' },
  limiter: { type: 'string' },
  'policy-key': { type: 'string', multiple: true },
  'policy-tag': { type: 'string', multiple: true },
  cost: { type: 'string' },
  json: { type: 'boolean' },
  redis: { type: 'string' },
  cluster: { type: 'boolean' },
  prefix: { type: 'string' },
  'hash-tags': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

/** What is asked. */
export interface Question extends StorePlace {
  readonly key: string
  /** The path of a module with policies. */
  readonly file: string | undefined
  /** The live policies' name. */
  readonly name: string | undefined
  readonly limiter: string | undefined
  /** Policy keys, by the policies' names. */
  readonly policyKeys: ReadonlyMap<string, string>
  readonly policyTags: ReadonlyMap<string, string>
  readonly cost: number
  readonly isJson: boolean
}

/**
 * The question that the arguments ask. Undefined: they ask for help.
 * @throws {SimulateError} WEIR_INVALID_OPTION, with exit code 2
 */
export function questionIn(args: readonly string[]): Question | undefined {
  const { values, positionals } = parsed(args)
  if (values.help || args.length === 0) return undefined
  if (positionals.length > 0)
    throw misuse('argument', positionals[0], 'options alone: weir why --key KEY')
  const { key, policy: file, name, limiter, redis, cluster, prefix } = values
  if (key === undefined || key === '')
    throw misused('WEIR_INVALID_OPTION', '--key is missing; say who is limited: --key u42')
  if (file === undefined && name === undefined) throw misused('WEIR_INVALID_OPTION', NO_SOURCE)
  if (file === undefined && limiter === undefined) throw misused('WEIR_INVALID_OPTION', NO_LIMITER)
  const tags = values['hash-tags']
  return {
    ...{ key, file, name, limiter, redis, cluster, prefix },
    hashTags: tags === undefined ? undefined : numberIn('--hash-tags', tags, 2, 1_024),
    policyKeys: pairsIn('--policy-key', values['policy-key']),
    policyTags: pairsIn('--policy-tag', values['policy-tag']),
    cost: numberIn('--cost', values.cost ?? '1', 0, Number.MAX_SAFE_INTEGER),
    isJson: values.json === true,
  }
}

const NO_SOURCE =
  'no policies are given; give --policy FILE with those that limit the key, or --name with the ' +
  "name of the application's livePolicies"

const NO_LIMITER =
  '--limiter is missing; processes publish their policies, but not the name of the limiter that ' +
  "has them: a limiter without a name is called 'default'"

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw misusedOptions(error)
  }
}

function numberIn(what: string, text: string, least: number, most: number): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw misuse(what, text, `a whole number from ${least} to ${most}`)
}

/** Pairs written `name=value`; a value may contain any character. */
function pairsIn(what: string, texts: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const at = text.indexOf('=')
      if (at < 1 || at === text.length - 1)
        throw misuse(what, text, "the name of a policy, '=' and its key: org=acme")
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}
