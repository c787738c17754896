// Settings in Redis: one hash for each name, without a TTL, so that they are lost all at once or
// not at all, and lie in one slot of a Cluster:
//
//   <prefix>:{settings:<name>}
//
// Its fields: `id`, `version` and `restored`; `counted`, the number of fields that begin with `=`;
// `~0` to `~99`, the last changes, by their version; and the settings themselves, which begin with
// `.` or `=`.

import { createHash } from 'node:crypto'
import { StoreError } from '../base/errors.js'
import type { Time } from '../base/time.js'
import { withDeadline } from '../layers/resilience/deadlines.js'
import { reasonOf } from '../layers/resilience/failures.js'
import {
  isCounted,
  REMEMBERED_CHANGES,
  type SettingAnswer,
  type SettingChange,
  type Settings,
} from '../settings.js'
import type { Connection } from './connection.js'
import { PEERS_TAG } from './heartbeat.js'
import type { RedisSettings } from './options.js'
import { isRefusal, remedyFor, withoutScripts } from './permissions.js'
import { type Ask, listIn, pairsIn, REPORTS_COMMANDS, redisReports, TIME_HEAD } from './reports.js'
import { isUnknownScript } from './transport/script.js'
import { redisWatching, WATCH_COMMANDS, type Watched } from './watched.js'

/** A call that takes longer has failed, unless the store is more patient; one of many fields may
 *  take a little. */
const DEADLINE_MS = 1_000
const RESTORING_MS = 10_000
/** Fields of a page, about. */
const PAGE = 200

/** Of a version: more, and no number of Lua is sure to hold it. */
const MOST_DIGITS = 15

// KEYS [1] the hash
// Sets: id, restored, and version: nil if no change has made it, so that somebody wrote it by
// hand
const HEAD = `${TIME_HEAD}
local function numberIn(digits)
  return #digits <= ${MOST_DIGITS} and string.match(digits, '^%d+$') and tonumber(digits) or nil
end
local function placeOf(n) return string.format('~%d', n % ${REMEMBERED_CHANGES}) end
local function logged(n)
  local change = redis.call('HGET', KEYS[1], placeOf(n)) or ''
  local own = shown(n) .. '\\n'
  return string.sub(change, 1, #own) == own and change or nil
end
local head = redis.call('HMGET', KEYS[1], 'id', 'version', 'restored')
local id, restored = head[1] or '', numberIn(head[3] or '') or 0
local version = numberIn(head[2] or '0')
if version and version ~= restored and not logged(version) then version = nil end
`

const WITH_VERSION = `${HEAD}
if not version then
  return redis.error_reply('ERR their version is none of Weir\\'s; any change mends it')
end
`

// ARGV [2] the id known, [3] the version known; '' for none
// Reply: now, id, version, restored, '1' if these are all changes since, and the changes
const NEWS = `${WITH_VERSION}
local known = tonumber(ARGV[3])
local first = math.max(1, version - ${REMEMBERED_CHANGES - 1})
local reply = { us, id, shown(version), shown(restored), '1' }
if known then
  local isKnown = known == version and ARGV[2] == id or known == 0 and first == 1
  if known >= first and known < version then
    isKnown = string.match(logged(known) or '', '\\n([^\\n]*)$') == ARGV[2]
  end
  if not isKnown then reply[5] = '' return reply end
  first = known + 1
end
for n = first, version do
  local change = logged(n)
  if change then reply[#reply + 1] = change elseif known then reply[5] = '' end
end
return reply
`

// ARGV [2] an id, [3] lead in us, [4] field, [5] value, [6] the most fields that are counted
// Reply: outcome, id, version, now, active, value before
const CHANGE = `${HEAD}
local field, value = ARGV[4], ARGV[5]
local was = redis.call('HGET', KEYS[1], field) or ''
local active = shown(tonumber(us) + ARGV[3])
if version and was == value then return { 'same', id, shown(version), us, active, was } end
if not version then
  version = #shown(restored) < ${MOST_DIGITS} and restored or 0
  for n = 0, ${REMEMBERED_CHANGES - 1} do
    local change = redis.call('HGET', KEYS[1], placeOf(n)) or ''
    local digits = string.match(change, '^(%d+)\\n') or '0'
    if #digits < ${MOST_DIGITS} then version = math.max(version, tonumber(digits)) end
  end
end
if string.sub(field, 1, 1) == '=' then
  local counted = tonumber(redis.call('HGET', KEYS[1], 'counted') or 0) or 0
  if was == '' and value ~= '' then
    if counted >= tonumber(ARGV[6]) then
      return { 'full', id, shown(version), us, active, was }
    end
    redis.call('HSET', KEYS[1], 'counted', shown(counted + 1))
  elseif was ~= '' and value == '' then
    redis.call('HSET', KEYS[1], 'counted', shown(counted - 1))
  end
end
id, version = ARGV[2], version + 1
if value == '' then
  redis.call('HDEL', KEYS[1], field)
else
  redis.call('HSET', KEYS[1], field, value)
end
local change = table.concat({ shown(version), us, active, field, value, was, id }, '\\n')
redis.call('HSET', KEYS[1], 'id', id, 'version', shown(version), placeOf(version), change)
return { 'changed', id, shown(version), us, active, was }
`

// ARGV [2] cursor
const PAGES = `return redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ${PAGE})`

// ARGV [2] the id and [3] the version that are there now, and then fields and values
const RESTORE = `${WITH_VERSION}
if id ~= ARGV[2] or version ~= tonumber(ARGV[3]) then return 0 end
redis.call('DEL', KEYS[1])
for i = 4, #ARGV, 1000 do redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(#ARGV, i + 999))) end
return 1
`

/** By what they do. */
export const SETTINGS_SCRIPTS: Readonly<Record<'news' | 'page' | 'change' | 'restore', string>> = {
  news: NEWS,
  page: PAGES,
  change: CHANGE,
  restore: RESTORE,
}

/** What is called, beside the commands of reports and of watching: for ACLs. */
const OWN_COMMANDS = ['EVALSHA', 'EVAL', 'TIME', 'HGET', 'HMGET', 'HSET', 'HDEL', 'HSCAN', 'DEL']
const COMMANDS = [...OWN_COMMANDS, ...REPORTS_COMMANDS, ...WATCH_COMMANDS]

type Page = [next: string, flat: string[]]

interface SettingsOptions extends Pick<RedisSettings, 'format' | 'clock' | 'deadlineMs'> {
  readonly time: Time
  /** What heartbeats hear of it. */
  readonly watched: Watched
}

function askingBy(
  connection: Connection,
  { format: { prefix }, clock, deadlineMs, time }: SettingsOptions,
): Ask {
  async function call(source: string, args: string[]): Promise<unknown> {
    // Not for as long as a request may wait, but until the deadline of the call.
    await connection.attempt()
    const why = connection.unready()
    if (why !== undefined) throw new Error(why)
    try {
      return await connection.call('evalsha', [shaOf(source), ...args])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return connection.call('eval', [source, ...args])
    }
  }

  const usualMs = Math.max(DEADLINE_MS, deadlineMs)
  return async (source, name, args, keys = [`{settings:${name}}`], ms = usualMs) => {
    const now = clock === undefined ? '' : String(clock.nowUs())
    const all = keys.map((key) => `${prefix}:${key}`)
    try {
      const reply = call(source, [String(all.length), ...all, now, ...args])
      return textsOf(await withDeadline(reply, ms, time, 'Redis'))
    } catch (error) {
      if (error instanceof StoreError) throw error
      const remedy = isRefusal(error) ? `; ${remedyFor(connection, prefix, COMMANDS)}` : ''
      const what = name === '' ? 'who watches' : `the settings of "${name}"`
      const problem = `Redis could not say or change ${what}: ${reasonOf(error)}${remedy}`
      throw withoutScripts(error) ?? new StoreError('WEIR_STORE_FAILED', problem, { cause: error })
    }
  }
}

export function redisSettings(connection: Connection, options: SettingsOptions): Settings {
  const { format, watched } = options
  const ask = askingBy(connection, options)

  return {
    ...redisReports(ask),
    ...redisWatching(ask, watched, PEERS_TAG),
    async news(name, since) {
      const args = [since?.id ?? '', since === undefined ? '' : String(since.version)]
      const reply = listIn(await ask(NEWS, name, args))
      const [now, id = '', version, restored, isComplete, ...changes] = reply
      const numbers = { version: Number(version), restored: Number(restored) }
      const readable = changes.map(changeOf).filter(isReadable)
      const isAll = isComplete !== '' && readable.length === changes.length
      const known = isAll || since === undefined ? readable : undefined
      return { nowUs: Number(now), id, ...numbers, changes: known }
    },
    async page(name, cursor) {
      const [next, flat] = listIn(await ask(PAGES, name, [cursor])) as unknown as Page
      return { next, fields: pairsIn(flat).filter(([field]) => /^[.=]/.test(field)) }
    },
    async change(name, { id, leadUs, field, value, most }) {
      const args = [id, String(leadUs), field, value, String(most)]
      const reply = listIn(await ask(CHANGE, name, args))
      const [given, known = '', version, now, active, was = ''] = reply
      const outcome = given as SettingAnswer['outcome']
      const numbers = { version: Number(version), nowUs: Number(now), activeUs: Number(active) }
      return { ...numbers, outcome, id: known, field, value, was }
    },
    async restore(name, over, { id, version, restored, fields, changes }) {
      const all = [...fields]
      const counted = all.filter(([field]) => isCounted(field)).length
      const head = { id, version, restored, counted }
      const log = changes.map((each) => [`~${each.version % REMEMBERED_CHANGES}`, textOf(each)])
      const written = [...Object.entries(head), ...log, ...all].flat().map(String)
      const args = [over.id, String(over.version), ...written]
      return Number(await ask(RESTORE, name, args, undefined, RESTORING_MS)) === 1
    },
    hidden: format.isSecret ? format.part : undefined,
  }
}

function textOf({ version, nowUs, activeUs, field, value, was, id }: SettingChange): string {
  return [version, nowUs, activeUs, field, value, was, id].join('\n')
}

function changeOf(text: string): SettingChange {
  const [version, nowUs, activeUs, field = '', value = '', was = '', id = ''] = text.split('\n')
  const numbers = { version: Number(version), nowUs: Number(nowUs), activeUs: Number(activeUs) }
  return { ...numbers, id, field, value, was }
}

/** Whether nobody has edited it so that it is no change any more. */
function isReadable({ nowUs, activeUs }: SettingChange): boolean {
  return Number.isSafeInteger(nowUs) && Number.isSafeInteger(activeUs)
}

function textsOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textsOf)
  return String(reply)
}

function shaOf(source: string): string {
  return createHash('sha1').update(source).digest('hex')
}
