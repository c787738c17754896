// The commands that Weir must be permitted on Redis, and the warnings if it is not, or if the
// server runs no scripts. docs/redis.md lists the same commands.

import { StoreError } from '../base/errors.js'
import type { Time } from '../base/time.js'
import { warn } from '../base/warnings.js'
import { withDeadline } from '../layers/resilience/deadlines.js'
import { reasonOf } from '../layers/resilience/failures.js'
import type { Connection } from './connection.js'

// Commands of the scripts, with arguments for a trial key K, in an order that leaves no key behind.
const NUMBER = ['SET K 1 PX 1000', 'GET K', 'INCRBY K 1', 'PTTL K', 'PEXPIRE K 1000']
const TEXT = ['SETRANGE K 0 1', 'GETRANGE K 0 0', 'DEL K']
const LIST = ['RPUSH K 1', 'LSET K 0 1', 'LINDEX K 0', 'LLEN K', 'LTRIM K 0 0']
const SORTED_SET = ['ZADD K 1 1', 'ZRANGE K 0 0', 'ZREMRANGEBYSCORE K 0 0', 'ZREM K 1']
const IN_SCRIPTS = ['TIME', ...NUMBER, ...TEXT, ...LIST, 'LPOP K', ...SORTED_SET]

const NAMES = IN_SCRIPTS.map((line) => line.split(' ', 1)[0] as string)

/** All commands that Weir itself sends. */
export const COMMANDS: readonly string[] = ['EVALSHA', 'EVAL', ...NAMES]

/**
 * How a server refuses a user: a command; in a script, before Redis 7.2; in a script, since 7.2 and
 * in Valkey.
 */
const REFUSAL = /\bNOPERM\b|The user executing the script can't|ACL failure in script/

/** How a server answers that runs no Lua scripts: one whose operator has renamed the commands, a
 *  service without them; Valkey 9.1 whose module for Lua was unloaded. */
const NO_SCRIPTS = /unknown command [`'"]?eval|scripting engine 'lua'/i

// KEYS [1] a key to try commands on; ARGV the commands. Reply: each one's error, '' if there is
// none
const CHECK = `
local errors = {}
for i, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do words[#words + 1] = word == 'K' and KEYS[1] or word end
  local reply = redis.pcall(unpack(words))
  errors[i] = type(reply) == 'table' and reply.err or ''
end
-- What a refused command has left there.
redis.pcall('PEXPIRE', KEYS[1], 1000)
redis.pcall('DEL', KEYS[1])
return errors
`

/**
 * Returns a function to call with each failure of a call, and with a hash tag of the node
 * concerned. If a missing permission may be the cause, it tries all commands, once, and warns of
 * those that are refused. It warns once of a server that runs no scripts.
 */
export function permissions(
  connection: Pick<Connection, 'call' | 'database' | 'keyPrefix'>,
  prefix: string,
  deadlineMs: number,
  time: Time,
): (error: unknown, tagOf: () => string) => void {
  const tried = new Set<boolean>()
  let isWarned = false
  let isWarnedOfScripts = false

  async function check(error: unknown, isSure: boolean, tag: string): Promise<void> {
    // Where EVAL fails as well, only the first refusal is known.
    let refused = isSure ? reasonOf(error) : ''
    try {
      const args = [CHECK, '1', `${prefix}:{${tag}}:permissions`, ...IN_SCRIPTS]
      const reply = connection.call('eval', args)
      const errors = (await withDeadline(reply, deadlineMs, time, 'Redis')) as unknown[]
      refused = NAMES.filter((_, i) => REFUSAL.test(String(errors[i]))).join(', ') || refused
    } catch {
      tried.delete(isSure)
    }
    if (isWarned || refused === '') return
    isWarned = true
    const remedy = remedyFor(connection, prefix, COMMANDS)
    warn('WEIR_NOT_PERMITTED', `Redis does not permit what Weir needs: ${refused}; ${remedy}`)
  }

  return (error, tagOf) => {
    const without = isWarnedOfScripts ? undefined : withoutScripts(error)
    if (without !== undefined) {
      isWarnedOfScripts = true
      warn('WEIR_NO_SCRIPTS', without.message)
    }
    const isSure = isRefusal(error)
    // A script cannot tell a value that it may not read from one that Weir did not write.
    const mayBe = isSure || (error as StoreError | undefined)?.code === 'WEIR_FOREIGN_KEY'
    if (!mayBe || isWarned || tried.has(isSure)) return
    tried.add(isSure)
    void check(error, isSure, tagOf())
  }
}

/** The error for a server that runs no scripts; undefined: a call failed for another reason. */
export function withoutScripts(error: unknown): StoreError | undefined {
  if (!NO_SCRIPTS.test(String((error as Error | undefined)?.message))) return undefined
  const remedy = 'load its module for Lua, or allow EVAL and EVALSHA'
  const problem = `Redis runs no Lua scripts: ${reasonOf(error)}; ${remedy}`
  return new StoreError('WEIR_NO_SCRIPTS', problem, { cause: error })
}

/** How to permit a user some commands. */
export function remedyFor(
  { database, keyPrefix }: Pick<Connection, 'database' | 'keyPrefix'>,
  prefix: string,
  commands: readonly string[],
): string {
  const all = database === 0 ? commands : [...commands, 'SELECT']
  const allowed = all.map((name) => `+${name.toLowerCase()}`).join(' ')
  return `run: ACL SETUSER <user> ~${keyPrefix}${prefix}:* ${allowed}`
}

/** Whether an error says that the user lacks a permission. */
export function isRefusal(error: unknown): boolean {
  return REFUSAL.test(String((error as Error | undefined)?.message))
}
