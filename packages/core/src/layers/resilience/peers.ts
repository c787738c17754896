// How many instances share a limit, and which of them this one is: told by the user, or counted by a heartbeat in Redis.
// The last count is kept through an outage; before Redis was ever seen, an instance takes itself to be alone.

import { quote, rangeError } from '../../base/errors.js'
import { send } from '../../redis/client/send.js'
import type { RedisLike } from '../../redis/transport/script-call.js'

/** `rank` runs from 0 to count - 1; undefined: not known, so nobody gets the remainders. */
export interface Instances {
  readonly count: number
  readonly rank: number | undefined
}

/** This instance's part of `units`: all parts sum up to it, or to less if ranks are not known. A part may be 0. */
export function partOf(units: number, { count, rank }: Instances): number {
  const whole = Math.floor(units / count)
  return rank !== undefined && rank < units % count ? whole + 1 : whole
}

/** @throws {RangeError} WEIR_INVALID_OPTION */
export function checkedInstances(option: number | { count: number; rank: number }): Instances {
  const { count, rank } =
    typeof option === 'object' && option !== null ? option : { count: option, rank: undefined }
  const known = rank === undefined || (Number.isInteger(rank) && rank >= 0 && rank < count)
  if (!Number.isInteger(count) || count < 1 || count > 100_000 || !known) {
    const right = 'give a count from 1 to 100000, or { count, rank } with a rank below the count'
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `instances is ${quote(JSON.stringify(option))}; ${right}`,
    )
  }
  return { count, rank }
}

/** Instances that have not been heard of for this long are gone. */
const GONE_MS = 10_000
const BEAT_MS = 3_000
export const INSTANCES_TAG = 'instances'

// KEYS [1] ZSET of instance ids by the ms at which they are gone; ARGV [1] own id, [2] GONE_MS, [3] '1' to leave
// Reply: count, own rank (from 0)
const HEARTBEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[3] == '1' then redis.call('ZREM', KEYS[1], ARGV[1]) return { 0, 0 } end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(ids)
for rank = 1, #ids do if ids[rank] == ARGV[1] then return { #ids, rank - 1 } end end
`

export interface Heartbeat {
  readonly instances: Instances
  /** May be called as often as one likes. */
  start(): void
  /** Leaves the set, if Redis can be reached. */
  stop(): Promise<void>
}

/**
 * @param usable whether Redis may be asked now
 * @param failed called when a beat was not answered
 */
export function heartbeat(
  client: RedisLike,
  prefix: string,
  usable: () => boolean,
  failed: (error: unknown) => void = () => {},
): Heartbeat {
  const id = `${process.pid}-${Math.random().toString(36).slice(2)}`
  const key = `${prefix}:{${INSTANCES_TAG}}`
  let instances: Instances = { count: 1, rank: 0 }
  let fewerSinceMs: number | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  let second: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  /** More are believed at once. Fewer only when they stay fewer: the set may have been lost, and then all seem to be gone but
   *  the first that is heard of again. */
  function counted(heard: Instances): void {
    const nowMs = performance.now()
    if (heard.count >= instances.count) fewerSinceMs = undefined
    else fewerSinceMs ??= nowMs
    if (fewerSinceMs !== undefined && nowMs - fewerSinceMs < GONE_MS) return
    fewerSinceMs = undefined
    instances = heard
  }

  async function beat(leaving: boolean): Promise<void> {
    if (!usable()) return
    try {
      const args = [HEARTBEAT, '1', key, id, String(GONE_MS), leaving ? '1' : '']
      // Numbers, or texts if the client's option stringNumbers says so.
      const [count, rank] = (await send(client, 'eval', args)) as [unknown, unknown]
      if (!leaving) counted({ count: Number(count), rank: Number(rank) })
    } catch (error) {
      // The last count stands. Whether Redis is well is for the breaker to find out.
      failed(error)
    }
  }

  return {
    get instances() {
      return instances
    },
    start() {
      if (timer !== undefined || stopped) return
      timer = setInterval(() => void beat(false), BEAT_MS)
      timer.unref?.()
      void beat(false)
      // Peers that start at the same time are not all there at the first beat.
      second = setTimeout(() => void beat(false), BEAT_MS / 6)
      second.unref?.()
    },
    async stop() {
      stopped = true
      if (timer === undefined) return
      clearInterval(timer)
      clearTimeout(second)
      await beat(true)
    },
  }
}
