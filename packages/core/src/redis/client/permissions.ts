// What Weir must be permitted on Redis, and the warning if it is not. docs/resilience.md has the
// same list.

import type { StoreError } from '../../base/errors.js'
import type { Time } from '../../base/time.js'
import { warn } from '../../base/warnings.js'
import { reasonOf, withDeadline } from '../../layers/resilience/failures.js'
import type { RedisLike } from './client.js'
import { send } from './send.js'

/**
 * Commands of the scripts, with arguments for a key K of their own, in an order that leaves none.
 */
const IN_SCRIPTS = [
  'TIME',
  'SET K 1 PX 1000',
  'GET K',
  'INCRBY K 1',
  'PTTL K',
  'PEXPIRE K 1000',
  'DEL K',
  'RPUSH K 1',
  'LPUSH K 1',
  'LSET K 0 1',
  'LINDEX K 0',
  'LLEN K',
  'LTRIM K 0 0',
  'LPOP K',
  'ZADD K 1 1',
  'ZRANGE K 0 0',
  'ZREMRANGEBYSCORE K 0 0',
  'ZREM K 1',
]

/** All commands that Weir itself sends. */
export const COMMANDS: readonly string[] = [
  'EVALSHA',
  'EVAL',
  ...IN_SCRIPTS.map((each) => nameOf(each)),
]

/**
 * What a server says to a user who may not: to a command; and in a script, before Redis 7.2, and
 * since then and in Valkey.
 */
const REFUSAL = /\bNOPERM\b|The user executing the script can't|ACL failure in script/

// KEYS [1] a key to try on; ARGV the commands. Reply: the names of those that are refused
const CHECK = `
local refused = {}
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do words[#words + 1] = word == 'K' and KEYS[1] or word end
  local reply = redis.pcall(unpack(words))
  local text = type(reply) == 'table' and reply.err or ''
  if string.find(text, 'NOPERM', 1, true) or string.find(text, 'The user executing the script', 1, true)
    or string.find(text, 'ACL failure in script', 1, true) then refused[#refused + 1] = words[1] end
end
-- What a refused command has left there.
redis.pcall('PEXPIRE', KEYS[1], 1000)
redis.pcall('DEL', KEYS[1])
return table.concat(refused, ' ')
`

/**
 * To be called with a failure of a call, and a hash tag of the node that is concerned. If it may be
 * for want of a permission, all are tried, once, and those that are refused are warned of.
 */
export type Permissions = (error: unknown, tagOf: () => string) => void

export function permissions(
  client: RedisLike,
  prefix: string,
  deadlineMs: number,
  time: Time,
): Permissions {
  let warned = false
  const tried = new Set<string>()

  async function refusedOf(tag: string): Promise<string> {
    const args = [CHECK, '1', `${prefix}:{${tag}}:permissions`, ...IN_SCRIPTS]
    const refused = String(await withDeadline(send(client, 'eval', args), deadlineMs, time))
    return refused.replaceAll(' ', ', ')
  }

  async function check(reason: string, known: string, tag: string): Promise<void> {
    const found = await refusedOf(tag).catch(() => {
      tried.delete(reason)
      return ''
    })
    // Where EVAL fails, too, only the first refusal is known.
    const refused = found || known
    if (warned || refused === '') return
    warned = true
    const keys = `~${keyPrefixOf(client)}${prefix}:*`
    const allowed = COMMANDS.map((name) => `+${name.toLowerCase()}`).join(' ')
    const remedy = `run: ACL SETUSER <user> ${keys} ${allowed}`
    warn('WEIR_NOT_PERMITTED', `Redis does not permit what Weir needs: ${refused}; ${remedy}`)
  }

  return (error, tagOf) => {
    const refused = isRefusal(error)
    // A script cannot tell a value that it may not read from one that Weir did not write.
    if (!refused && (error as StoreError).code !== 'WEIR_FOREIGN_KEY') return
    const reason = refused ? 'refused' : 'foreign'
    if (warned || tried.has(reason)) return
    tried.add(reason)
    void check(reason, refused ? reasonOf(error) : '', tagOf())
  }
}

/** Whether an error, or its cause, says that the user may not. */
export function isRefusal(error: unknown): boolean {
  const { message, cause } = error as { message?: unknown; cause?: { message?: unknown } }
  return REFUSAL.test(String(cause?.message ?? message))
}

function nameOf(line: string): string {
  return line.split(' ', 1)[0] as string
}

function keyPrefixOf({ options }: RedisLike): string {
  const { keyPrefix } = (options ?? {}) as { keyPrefix?: unknown }
  return typeof keyPrefix === 'string' ? keyPrefix : ''
}
