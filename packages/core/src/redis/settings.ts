// Settings in Redis: one hash for each name, without a TTL, so that they are lost all at once or
// not at all, and lie in one slot of a Cluster:
//
//   <prefix>:{settings:<name>}
//
// Its fields: `id`, `version` and `counted`; `~0` to `~99`, the last changes, by their version; and
// the settings themselves, which begin with `.` or `=`.

import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { StoreError } from '../base/errors.js'
import type { Time } from '../base/time.js'
import { withDeadline } from '../layers/resilience/deadlines.js'
import { reasonOf } from '../layers/resilience/failures.js'
import {
  REMEMBERED_CHANGES,
  type SettingAnswer,
  type SettingChange,
  type Settings,
} from '../settings.js'
import type { Connection } from './client/client.js'
import { isRefusal } from './client/permissions.js'
import type { KeyFormat } from './transport/keys.js'

/** A call that takes longer has failed, unless the store is more patient; one of many fields may
 *  take a little. */
const DEADLINE_MS = 1_000
const RESTORING_MS = 10_000
/** Fields of a page, about. */
const PAGE = 200

// KEYS [1] the hash; ARGV [1] the time in us, '' for the server's own
const HEAD = `
local key = KEYS[1]
local now = ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%d%06d', time[1], time[2])
end
local head = redis.call('HMGET', key, 'id', 'version')
local id, version = head[1] or '', string.match(head[2] or '0', '^%d+$')
if not version or #version > 15 then
  return redis.error_reply('ERR the settings have no version')
end
version = tonumber(version)
`

// ARGV [2] the id known, [3] the version known; '' for none
// Reply: now, id, version, '1' if these are all changes since, and the changes
const NEWS = `${HEAD}
local known = tonumber(ARGV[3])
local first = math.max(1, version - ${REMEMBERED_CHANGES - 1})
local complete = '1'
if known then
  if (ARGV[2] ~= id and known > 0) or known > version or known + 1 < first then
    return { now, id, string.format('%d', version), '' }
  end
  first = known + 1
end
local reply = { now, id, string.format('%d', version), complete }
for n = first, version do
  local change = redis.call('HGET', key, string.format('~%d', n % ${REMEMBERED_CHANGES}))
  local own = string.format('%d\\n', n)
  if change and string.sub(change, 1, #own) == own then
    reply[#reply + 1] = change
  elseif known then
    reply[4] = ''
  end
end
return reply
`

// ARGV [2] an id for new settings, [3] the lead in us, [4] field, [5] value, [6] the most counted
// Reply: outcome, version, now, active, what the field was
const CHANGE = `${HEAD}
local field, value = ARGV[4], ARGV[5]
local was = redis.call('HGET', key, field) or ''
local active = string.format('%.0f', tonumber(now) + ARGV[3])
if was == value then return { 'same', string.format('%d', version), now, active, was } end
if string.sub(field, 1, 1) == '=' then
  local counted = tonumber(redis.call('HGET', key, 'counted') or '0')
  if was == '' and counted >= tonumber(ARGV[6]) then
    return { 'full', string.format('%d', version), now, active, was }
  end
  if was == '' then redis.call('HINCRBY', key, 'counted', 1) end
  if value == '' then redis.call('HINCRBY', key, 'counted', -1) end
end
if id == '' then redis.call('HSET', key, 'id', ARGV[2]) end
version = version + 1
if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
local change = string.format('%d\\n%s\\n%s\\n%s\\n%s\\n%s', version, now, active, field, value, was)
local place = string.format('~%d', version % ${REMEMBERED_CHANGES})
redis.call('HSET', key, 'version', string.format('%d', version), place, change)
return { 'changed', string.format('%d', version), now, active, was }
`

// ARGV [2] cursor
const PAGES = `${HEAD}
return redis.call('HSCAN', key, ARGV[2], 'COUNT', ${PAGE})
`

// ARGV [2] id, [3] version, [4] how many are counted, and then fields and values
const RESTORE = `${HEAD}
if id ~= '' and (id ~= ARGV[2] or version >= tonumber(ARGV[3])) then return 0 end
redis.call('DEL', key)
redis.call('HSET', key, 'id', ARGV[2], 'version', ARGV[3], 'counted', ARGV[4])
for i = 5, #ARGV, 1000 do redis.call('HSET', key, unpack(ARGV, i, math.min(#ARGV, i + 999))) end
return 1
`

/** What the scripts call, beside TIME: for ACLs. */
const COMMANDS = '+evalsha +eval +time +hget +hmget +hset +hdel +hincrby +hscan +del'

interface SettingsOptions {
  readonly format: KeyFormat
  readonly clock: Clock | undefined
  readonly deadlineMs: number
  readonly time: Time
}

export function redisSettings(
  connection: Connection,
  { format, clock, deadlineMs, time }: SettingsOptions,
): Settings {
  const { prefix } = format
  const keyOf = (name: string): string => `${prefix}:{settings:${name}}`

  async function call(source: string, args: string[]): Promise<unknown> {
    if (!connection.isStarted) await connection.connecting()
    const why = connection.unready()
    if (why !== undefined) throw new Error(why)
    try {
      return await connection.call('evalsha', [shaOf(source), ...args])
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return connection.call('eval', [source, ...args])
    }
  }

  /** Replies of bulk strings, as texts. */
  async function ask(
    source: string,
    name: string,
    args: readonly string[],
    ms: number = Math.max(DEADLINE_MS, deadlineMs),
  ): Promise<unknown> {
    const now = clock === undefined ? '' : String(clock.nowUs())
    try {
      const reply = call(source, ['1', keyOf(name), now, ...args])
      return textsOf(await withDeadline(reply, ms, time, 'Redis'))
    } catch (error) {
      if (error instanceof StoreError) throw error
      const remedy = isRefusal(error)
        ? `; run: ACL SETUSER <user> ~${connection.keyPrefix}${prefix}:* ${COMMANDS}`
        : ''
      const what = `Redis could not say or change the settings of "${name}"`
      const problem = `${what}: ${reasonOf(error)}${remedy}`
      throw new StoreError('WEIR_STORE_FAILED', problem, { cause: error })
    }
  }

  return {
    async news(name, since) {
      const args = [since?.id ?? '', since === undefined ? '' : String(since.version)]
      const reply = (await ask(NEWS, name, args)) as string[]
      const [now, id, version, isComplete, ...changes] = reply
      const base = { nowUs: Number(now), id: id as string, version: Number(version) }
      const readable = changes.map(changeOf).filter(isReadable)
      const isAll = isComplete !== '' && readable.length === changes.length
      return { ...base, changes: isAll || since === undefined ? readable : undefined }
    },
    async page(name, cursor) {
      const [next, flat] = (await ask(PAGES, name, [cursor])) as [string, string[]]
      const fields: [string, string][] = []
      for (let i = 0; i < flat.length; i += 2) {
        const field = flat[i] as string
        if (/^[.=]/.test(field)) fields.push([field, flat[i + 1] as string])
      }
      return { next, fields }
    },
    async change(name, { id, leadUs, field, value, most }) {
      const args = [id, String(leadUs), field, value, String(most)]
      const reply = (await ask(CHANGE, name, args)) as string[]
      const [outcome, version, now, active, was] = reply
      return {
        outcome: outcome as SettingAnswer['outcome'],
        version: Number(version),
        nowUs: Number(now),
        activeUs: Number(active),
        field,
        value,
        was: was as string,
      }
    },
    async restore(name, { id, version }, fields) {
      const all = [...fields]
      const counted = all.filter(([field]) => field.startsWith('=')).length
      const args = [id, String(version), String(counted), ...all.flat()]
      return Number(await ask(RESTORE, name, args, RESTORING_MS)) === 1
    },
    hidden: format.isSecret ? format.part : undefined,
  }
}

function changeOf(text: string): SettingChange {
  const [version, nowUs, activeUs, field = '', value = '', was = ''] = text.split('\n')
  const numbers = { version: Number(version), nowUs: Number(nowUs), activeUs: Number(activeUs) }
  return { ...numbers, field, value, was }
}

/** Whether nobody has edited it so that it is no change any more. */
function isReadable({ nowUs, activeUs }: SettingChange): boolean {
  return Number.isSafeInteger(nowUs) && Number.isSafeInteger(activeUs)
}

function textsOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textsOf)
  return String(reply)
}

const shas = new Map<string, string>()

function shaOf(source: string): string {
  const sha = shas.get(source) ?? createHash('sha1').update(source).digest('hex')
  shas.set(source, sha)
  return sha
}
