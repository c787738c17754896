// How many processes share the limits, counted in Redis: each says every 3 s that it is there. The
// last count is kept through an outage; before Redis was ever seen, a process takes itself to be
// alone. The reply also says whether somebody watches (watched.ts).

import { quote } from '../base/errors.js'
import type { Time } from '../base/time.js'
import { warnOnce } from '../base/warnings.js'
import { ALONE, isPeers, type Peers } from '../layers/resilience/peers.js'
import type { Connection } from './connection.js'
import { watchedKey } from './watched.js'

/** Processes that have not been heard of for this long are gone. */
const GONE_MS = 10_000
const BEAT_MS = 3_000
export const PEERS_TAG = 'instances'

// KEYS [1] ZSET of process ids by the ms at which they are gone, [2] the key of watched.ts
// ARGV [1] own id, [2] GONE_MS, [3] '1' to leave
// Reply: count, own rank (from 0), for how many ms somebody watches
export const HEARTBEAT: string = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[3] == '1' then redis.call('ZREM', KEYS[1], ARGV[1]) return { 0, 0, 0 } end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
table.sort(ids)
local watched = math.max(redis.call('PTTL', KEYS[2]), 0)
for rank = 1, #ids do if ids[rank] == ARGV[1] then return { #ids, rank - 1, watched } end end
`

export interface HeartbeatOptions {
  readonly prefix: string
  readonly time: Time
  /** Called when a beat was not answered, or not with a count and a rank. */
  readonly failed: (error: unknown) => void
  /** Called with each answer: for how many ms somebody watches. */
  readonly watched: (ms: unknown) => void
}

export class Heartbeat {
  peers: Peers = ALONE
  readonly #connection: Pick<Connection, 'call' | 'unready'>
  readonly #options: HeartbeatOptions
  readonly #id: string
  /** Since when Redis has said at each beat that there are fewer processes; undefined: it has
   *  not. */
  #fewerSinceMs: number | undefined
  #first: Promise<void> | undefined
  #cancels: (() => void)[] = []
  #isStopped = false

  constructor(connection: Pick<Connection, 'call' | 'unready'>, options: HeartbeatOptions) {
    this.#connection = connection
    this.#options = options
    this.#id = `${process.pid}-${options.time.random().toString(36).slice(2)}`
  }

  /** May be called as often as one likes. */
  start(): void {
    if (this.#first !== undefined || this.#isStopped) return
    // Peers that start at the same time are not all there at the first beat.
    this.#cancels = [this.#options.time.after(BEAT_MS / 6, () => void this.#beat(false))]
    this.#first = this.#every()
  }

  /** Starts it. Resolves when the first beat is over. */
  async firstBeat(): Promise<void> {
    this.start()
    await this.#first
  }

  /** Leaves the set, if Redis can be reached. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#options.watched(undefined)
    for (const cancel of this.#cancels) cancel()
    if (this.#cancels.length > 0) await this.#beat(true)
  }

  #every(): Promise<void> {
    this.#cancels[1] = this.#options.time.after(BEAT_MS, () => void this.#every())
    return this.#beat(false)
  }

  async #beat(isLeaving: boolean): Promise<void> {
    const { prefix, failed, watched } = this.#options
    if (this.#connection.unready() !== undefined) {
      this.#fewerSinceMs = undefined
      return
    }
    const keys = [`${prefix}:{${PEERS_TAG}}`, `${prefix}:${watchedKey(PEERS_TAG)}`]
    const args = [HEARTBEAT, '2', ...keys, this.#id, String(GONE_MS), isLeaving ? '1' : '']
    try {
      const reply = await this.#connection.call('eval', args)
      if (isLeaving) return
      this.#counted(this.#peersIn(reply))
      // A server that stands in for Redis may have sent only a count and a rank.
      if (!this.#isStopped) watched(numberOf((reply as unknown[])[2]))
    } catch (error) {
      // The last count stands. Whether Redis is well is for the breaker to find out.
      this.#fewerSinceMs = undefined
      failed(error)
    }
  }

  /** @throws {Error} if a proxy or another server has answered */
  #peersIn(reply: unknown): Peers {
    const [count, rank] = Array.isArray(reply) ? reply.map(numberOf) : []
    const told = { count, rank }
    if (rank !== undefined && isPeers(told)) return told
    const shown = quote(reply instanceof Uint8Array ? String(reply) : reply)
    const { prefix } = this.#options
    const what = `Redis answered the heartbeat of prefix ${quote(prefix)} with ${shown}`
    const right = 'it should be a count of processes and a rank below it'
    const message = `${what}; ${right}; the last count, ${this.peers.count}, stands`
    warnOnce('WEIR_PEERS_UNKNOWN', prefix, message)
    throw new Error(message)
  }

  /** A larger count is believed at once, and a smaller one only if it lasts: when the set was lost,
   *  all processes seem to be gone but the first that is heard of again. */
  #counted(heard: Peers): void {
    const nowMs = this.#options.time.nowMs()
    if (heard.count >= this.peers.count) this.#fewerSinceMs = undefined
    else this.#fewerSinceMs ??= nowMs
    if (this.#fewerSinceMs !== undefined && nowMs - this.#fewerSinceMs < GONE_MS) return
    this.#fewerSinceMs = undefined
    this.peers = heard
  }
}

/** The number in a part of a reply, which is text if the client's option `stringNumbers` is set. */
function numberOf(part: unknown): unknown {
  return typeof part === 'string' && part !== '' ? Number(part) : part
}
