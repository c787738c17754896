// What `weir limits` does, on any store: for the command line, and its tests.

import { type Policy, counterOf } from '../algorithms/policy.js'
import { policyFrom, policyText } from '../algorithms/policy-from.js'
import { invalid, quote } from '../base/errors.js'
import { checkKind, checkNamed, checkNotFull, checkedOverrideKey, MAX_OVERRIDES } from '../live/checks.js'
import { fieldOf, overrideField, policyField } from '../live/fields.js'
import { LEAD_MS } from '../live/follower.js'
import type { OverrideKey } from '../live/types.js'
import type { SettingChange, Settings } from '../settings.js'
import { checkedName } from '../algorithms/policy.js'

export const HELP = `weir limits: policies that hold for all processes, kept in Redis

  weir limits list                           what is set now
  weir limits history                        the last 100 changes, the latest first
  weir limits set <name> <policy>            sets a named policy
  weir limits unset <name>                   back to the default of the application
  weir limits override <key> <policy>        a policy for one key
  weir limits override --under <prefix> <policy>    and for all keys that begin so
  weir limits remove <policy name> <key>     ends an override
  weir limits remove <policy name> --under <prefix>

  --name <name>     the name that livePolicies has in the application; required
  --redis <url>     default: the environment variable REDIS_URL, or redis://localhost:6379
  --cluster         the server is one of a Redis Cluster
  --prefix <text>   as the store's; default weir
  WEIR_HASH_KEYS    an environment variable: the store's hashKeys, if it has one

A policy is JSON: the algorithm, and the options of its factory.
  '{"algorithm":"token-bucket","name":"api","capacity":20,"refill":10,"every":"1s"}'
It holds 1.5 seconds after it was set.`

/** @throws {TypeError | RangeError} for what is not right; {StoreError} if the store fails */
export async function limits(
  settings: Settings,
  name: string,
  args: readonly string[],
  under?: string | undefined,
): Promise<string[]> {
  checkedName(name, '--name')
  const [command, one, two] = args
  const count = args.length - 1 + (under === undefined ? 0 : 1)
  switch (command) {
    case 'list':
      return list(settings, name)
    case 'history':
      return history(settings, name)
    case 'set': {
      const policy = readPolicy(two)
      return change(settings, name, policyField(checkedName(one as string, 'name of the policy')), policy)
    }
    case 'unset':
      return change(settings, name, policyField(checkedName(one as string, 'name of the policy')))
    case 'override': {
      const policy = readPolicy(under === undefined ? two : one)
      const key = under === undefined ? (one as string) : { prefix: under }
      return change(settings, name, override(settings, policy.name, key), policy)
    }
    case 'remove': {
      const key = under === undefined ? (two as string) : { prefix: under }
      return change(settings, name, override(settings, checkedName(one as string, 'policy name'), key))
    }
    default: {
      const right = 'list, history, set, unset, override or remove: see weir limits --help'
      throw invalid('WEIR_INVALID_OPTION', 'command', command, right, 'string')
    }
  }
}
