// What processes make of settings, in Redis: beside the settings, in their slot of a Cluster,
//
//   <prefix>:{settings:<name>}:processes   a hash of texts, by process
//   <prefix>:{settings:<name>}:reported    a sorted set of processes, by the ms at which it is over
//
// Both have a TTL, and nothing of a process is left when it is gone.

import { hostname } from 'node:os'
import { quote, StoreError } from '../base/errors.js'
import type { Settings } from '../settings.js'

/** That are read at once. */
const MOST_PROCESSES = 1_000

// ARGV [1] the time in us, '' for the server's own
// Sets: us, as text, and shown
export const TIME_HEAD = `
local us = ARGV[1]
if us == '' then
  local time = redis.call('TIME')
  us = string.format('%d%06d', time[1], time[2])
end
local function shown(number) return string.format('%.0f', number) end
`

// KEYS [1] the hash, [2] the sorted set
const HEAD = `${TIME_HEAD}
local now = math.floor(tonumber(us) / 1000)
`

// ARGV [2] the process, [3] its report, '' for none any more, [4] for how many ms
// It writes last to the hash, so that no report stays for good where a user may not call one of the
// commands before.
export const REPORT: string = `${HEAD}
local function forget(process)
  redis.call('HDEL', KEYS[1], process)
  redis.call('ZREM', KEYS[2], process)
end
local over = redis.call('ZRANGE', KEYS[2], '-inf', shown(now), 'BYSCORE', 'LIMIT', 0, 100)
for _, process in ipairs(over) do forget(process) end
if ARGV[3] == '' then forget(ARGV[2]) return 0 end
redis.call('ZADD', KEYS[2], shown(now + ARGV[4]), ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`

// Reply: processes, each with its report
export const REPORTS: string = `${HEAD}
local reply = {}
local after = '(' .. shown(now)
local all = redis.call('ZRANGE', KEYS[2], after, '+inf', 'BYSCORE', 'LIMIT', 0, ${MOST_PROCESSES})
for _, process in ipairs(all) do
  local text = redis.call('HGET', KEYS[1], process)
  if text then
    reply[#reply + 1] = process
    reply[#reply + 1] = text
  end
end
return reply
`

/** What the scripts call, beside those of settings: for ACLs. */
export const REPORTS_COMMANDS: readonly string[] = ['PEXPIRE', 'ZADD', 'ZRANGE', 'ZREM']

/** Runs a script within `ms` on the hash of settings, or on these keys, which follow the prefix.
 *  Replies of bulk strings, as texts. Without a name it is about who watches. */
export type Ask = (
  source: string,
  name: string,
  args: readonly string[],
  keys?: readonly string[],
  ms?: number,
) => Promise<unknown>

function keysOf(name: string): readonly string[] {
  return [`{settings:${name}}:processes`, `{settings:${name}}:reported`]
}

export function redisReports(ask: Ask): Required<Pick<Settings, 'report' | 'reports'>> {
  const place = `${hostname().slice(0, 64)}-${process.pid}`
  return {
    async report(name, mark, text, ttlMs) {
      await ask(REPORT, name, [`${place}-${mark}`, text, String(ttlMs)], keysOf(name))
    },
    async reports(name) {
      const flat = listIn(await ask(REPORTS, name, [], keysOf(name)))
      return pairsIn(flat).map(([process, text]) => ({ process, text }))
    },
  }
}

/** @throws {StoreError} WEIR_STORE_FAILED: a proxy, or the client, has answered something else */
export function listIn(reply: unknown): string[] {
  if (Array.isArray(reply)) return reply
  const what = `Redis answered a script of settings with ${quote(reply)}`
  throw new StoreError('WEIR_STORE_FAILED', `${what}; it should be a list`)
}

/** Fields and values, as Redis lists them: one after the other. */
export function pairsIn(flat: readonly string[]): [field: string, value: string][] {
  return flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1] as string]] : []))
}
