// The command `weir`.

import { parseArgs } from 'node:util'
import { checkedName } from '../algorithms/policy.js'
import { invalid, typeError } from '../base/errors.js'
import { processTime } from '../base/time.js'
import {
  limitsHistory,
  listLimits,
  overrideLimit,
  type Place,
  printed,
  removeOverride,
  rollBackLimits,
  setLimit,
} from './limits.js'
import { explained, openStore, STORE_OPTIONS } from './open-store.js'

const GROUPS_HELP = `weir: tools for rate limits

  weir limits    reads and changes policies that hold for all processes, in Redis
  weir why       says why a key is refused, or would be, by what Redis has counted
  weir simulate  replays an access log through policies
  weir suggest   finds the smallest limits that refuse hardly any of a log

weir GROUP --help explains each. All groups but limits need a package:
npm install --save-dev @weir/simulate`

const HELP = `weir limits: policies that hold for all processes, kept in Redis

  weir limits list                            what is set, and where it does not hold
  weir limits history                         the last 100 changes, the latest first
  weir limits set NAME POLICY                 sets a named policy
  weir limits unset NAME                      goes back to the application's default
  weir limits override KEY POLICY             sets a policy for one key
  weir limits override --under PREFIX POLICY  sets a policy for all keys with a prefix
  weir limits remove KEY [POLICY-NAME]        ends an override
  weir limits remove --under PREFIX [POLICY-NAME]
  weir limits rollback VERSION                goes back to what was set in a version

  --name NAME    the name of the application's livePolicies; required
  --force        writes even what no process has or confirms, for example while none is running
  --redis URL    default: the variable REDIS_URL, or redis://localhost:6379
  --cluster      the server belongs to a Redis Cluster
  --prefix TEXT  the store's prefix, after its client's keyPrefix; default weir
  WEIR_HASH_KEYS, an environment variable: the store's hashKeys, if it has one

A policy is JSON: the name of its algorithm, and the options of its factory:
  '{"algorithm":"token-bucket","name":"api","capacity":20,"refill":10,"every":"1s"}'
It is checked against the running processes' policies, and holds in all of them 1.5 seconds later.

Exit codes: 0 done; 1 refused, or Redis failed; 2 the command is wrong.`

const OPTIONS = {
  ...STORE_OPTIONS,
  name: { type: 'string' },
  under: { type: 'string' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/**
 * @param args without the names of node and of the script
 * @returns lines to print
 */
export async function weir(args: readonly string[]): Promise<readonly string[]> {
  const { values, positionals } = parsed(args)
  const [group, ...command] = positionals
  if (group === undefined) return [GROUPS_HELP]
  if (group !== 'limits') throw unknown(group)
  if (values.help || command.length === 0) return [HELP]
  const run = commandOf(command, values.under)
  const { name, force: isForced = false } = values
  if (name === undefined) throw misused(typeError('WEIR_INVALID_OPTION', NO_NAME))
  checkedName(name, '--name')
  const { settings, trouble, close } = await openStore(values)
  try {
    return await run({ settings, name, time: processTime, isForced })
  } catch (error) {
    throw explained(error, trouble())
  } finally {
    close()
  }
}

const NO_NAME = '--name is missing; give the name of the livePolicies of the application'

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as CommandError
    // An address that was written as an option, `--redis://...`, may have a password.
    const refusal = new TypeError(printed(message.replace(/:.*/s, ':…')))
    throw misused(Object.assign(refusal, { code }))
  }
}

/** What `weir` rejects with, and its exit code. */
export interface CommandError extends Error {
  readonly code?: string
  /** 2: this is no command. 1, as if it were not there: it is, and was not done. */
  readonly exitCode?: number
}

export function misused(error: Error): CommandError {
  return Object.assign(error, { exitCode: 2 })
}

type Command = (place: Place, one: never, two: never) => Promise<string[]>

/** By name and the number of arguments, and whether the first of them is a prefix. */
const COMMANDS: Readonly<Record<string, Command>> = {
  'list 0': listLimits,
  'history 0': limitsHistory,
  'set 2': setLimit,
  'unset 1': setLimit,
  'override 2': overrideLimit,
  'override 2 under': overrideLimit,
  'remove 1': removeOverride,
  'remove 2': removeOverride,
  'remove 1 under': removeOverride,
  'remove 2 under': removeOverride,
  'rollback 1': rollBackLimits,
}

function commandOf(
  [command, ...args]: readonly string[],
  under: string | undefined,
): (place: Place) => Promise<string[]> {
  // A prefix stands where a key would.
  const all = under === undefined ? args : [{ prefix: under }, ...args]
  const run = COMMANDS[`${command} ${all.length}${under === undefined ? '' : ' under'}`]
  if (run === undefined) throw unknown([command, ...args].join(' '))
  return (place) => run(place, all[0] as never, all[1] as never)
}

/** Says how a command is used that there is. */
function unknown(given: string): Error {
  const begin = `  weir limits ${given.split(' ', 1)} `
  const lines = HELP.split('\n').filter((line) => line.startsWith(begin))
  const usages = lines.map((line) => line.trim().split('  ', 1).join())
  const right = usages.join(', or ') || 'one that weir --help names'
  return misused(invalid('WEIR_INVALID_OPTION', 'command', given, right, 'string'))
}
