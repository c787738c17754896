// The smallest script with the same answer: what a limiter would cost that did nothing but decide.
// It is an exact token bucket on the server's clock. It gives the same answer as Weir's script for
// one policy, and has neither modes nor costs nor several policies. There are three ways to use it:
// alone and pipelined, which are one subject, asked one by one or many at once; and many keys in a
// call, as Weir sends the requests of a turn.

import type { Redis } from 'ioredis'
import { connected } from './client.js'
import { type RedisSubject, type RedisSubjectKind, UNIT_MS } from './subject.js'
import { LARGEST_CALL } from './weir.js'

export const SMALLEST: string = 'Smallest script'
const SMALLEST_BATCHED: string = `Smallest script, ${LARGEST_CALL} in a call`

/**
 * Makes keys as long as those of Weir's bucket, which contain the limiter, the policy and the time
 * scale, so that limiters can share a server and a policy can change.
 */
const asLongAsWeirs = (key: string): string =>
  `weir:{${key}}:minimal:token-bucket-10000000-per-1000d:bucket1-1000d`

/**
 * ARGV: the price of a unit in us, and the capacity. A script for each limit would need neither,
 * and would fill the server with scripts. The reply is packed, which costs both sides a little less
 * than Redis's plain form.
 */
const HEAD = `local call, format, ceil, floor = redis.call, string.format, math.ceil, math.floor
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local price = ARGV[1] + 0
local span = ARGV[2] * price
`

/**
 * Decides `count` equal requests of cost 1 on `key`. Its state is one whole number, the time in us
 * at which everything taken has come back, which Redis stores inside the key's entry. The TTL
 * suffices for all times in the same 8.192 s, so most requests can use INCRBY, which keeps the TTL
 * and takes a seventh less of the script's time than SET.
 */
const DECIDE = `local stored = call('GET', key)
local free = stored and stored + 0 or now
if free < now then free = now end
local left = floor((now + span - free) / price)
local granted = left < count and left or count
if granted > 0 then
  left = left - granted
  free = free + granted * price
  if stored and stored - stored % 8192000 == free - free % 8192000 then
    call('INCRBY', key, format('%d', free - stored))
  else
    call('SET', key, format('%d', free), 'PX', format('%d', ceil((free - now) / 1000) + 8192))
  end
end
local wait = 0
if left < 1 then wait = ceil((free + price - now - span) / 1000) end
`

const ONE = `${HEAD}local key, count = KEYS[1], 1
${DECIDE}return cmsgpack.pack({ now, granted, left, wait, free - now })`

/** The counts follow the price and the capacity if any of them is above 1. */
const MANY = `${HEAD}local reply = { now }
for i = 1, #KEYS do
local key, count = KEYS[i], (ARGV[i + 2] or 1) + 0
${DECIDE}local at = 4 * i - 2
reply[at], reply[at + 1], reply[at + 2], reply[at + 3] = granted, left, wait, free - now
end
return cmsgpack.pack(reply)`

/**
 * The answer to a request: the present time in us, granted (0 or 1), units left, ms to wait (if
 * denied: until the cost fits; if nothing is left: until a unit is), us until the bucket is full
 * again.
 */
export type Answer = readonly [
  nowUs: number,
  granted: number,
  left: number,
  waitMs: number,
  resetUs: number,
]

const PRICE_US = UNIT_MS * 1_000

/** One EVALSHA for each decision. */
export const smallest: RedisSubjectKind = {
  name: SMALLEST,
  kind: 'floor',
  open: async (port, limit) => oneByOne(await connected(port), limit),
}

export const smallestBatched: RedisSubjectKind = {
  name: SMALLEST_BATCHED,
  kind: 'floor',
  open: async (port, limit) => inCalls(await connected(port), limit),
}

async function oneByOne(client: Redis, limit: number): Promise<RedisSubject> {
  const sha = await client.script('LOAD', ONE)
  return subjectOf(client, (key) =>
    client
      .callBuffer('evalsha', sha as string, 1, asLongAsWeirs(key), PRICE_US, limit)
      .then(asAnswer),
  )
}

async function inCalls(client: Redis, limit: number): Promise<RedisSubject> {
  const sha = (await client.script('LOAD', MANY)) as string
  let open: Map<string, ((answer: Answer) => void)[]> = new Map()
  let failures: ((error: unknown) => void)[] = []

  function flush(): void {
    if (open.size === 0) return
    const [asked, failed] = [open, failures]
    open = new Map()
    failures = []
    const args: (string | number)[] = []
    for (const key of asked.keys()) args.push(asLongAsWeirs(key))
    args.push(PRICE_US, limit)
    // One count for each key, which is in the call once.
    if (failed.length > asked.size) for (const { length } of asked.values()) args.push(length)
    client.callBuffer('evalsha', sha, asked.size, ...args).then(
      (packed) => handOut(unpacked(packed as Buffer), asked),
      (error) => {
        for (const fail of failed) fail(error)
      },
    )
  }

  return subjectOf(client, (key) => {
    if (open.size === 0) setImmediate(flush)
    return new Promise((resolve, reject) => {
      const others = open.get(key)
      if (others === undefined) open.set(key, [resolve])
      else others.push(resolve)
      failures.push(reject)
      if (open.size === LARGEST_CALL) flush()
    })
  })
}

/** Answers equal requests in their order, as if they had been decided one by one. */
function handOut(
  numbers: readonly number[],
  asked: ReadonlyMap<string, readonly ((answer: Answer) => void)[]>,
): void {
  const [now = 0] = numbers
  let at = 1
  for (const resolves of asked.values()) {
    const [granted = 0, left = 0, wait = 0, reset = 0] = numbers.slice(at, at + 4)
    for (let i = 0; i < resolves.length; i += 1) {
      const later = Math.max(0, granted - 1 - i)
      const isGranted = i < granted ? 1 : 0
      const waits = later > 0 ? 0 : wait
      resolves[i]?.([now, isGranted, left + later, waits, reset - later * PRICE_US])
    }
    at += 4
  }
}

function subjectOf(client: Redis, decide: (key: string) => Promise<Answer>): RedisSubject {
  return {
    ask: decide,
    left: (answer) => (answer as Answer)[2],
    allowed: (answer) => (answer as Answer)[1] === 1,
    close: async () => client.disconnect(),
  }
}

function asAnswer(packed: unknown): Answer {
  return unpacked(packed as Buffer) as unknown as Answer
}

/** Decodes an array of whole numbers from msgpack, with at most 2^16 - 1 elements. */
function unpacked(packed: Buffer): readonly number[] {
  const isLong = packed[0] === 0xdc
  const numbers = new Array<number>(isLong ? packed.readUInt16BE(1) : (packed[0] as number) & 0x0f)
  let at = isLong ? 3 : 1
  for (let i = 0; i < numbers.length; i += 1) {
    const type = packed[at] as number
    if (type < 0x80) {
      numbers[i] = type
      at += 1
      continue
    }
    // 0xcc to 0xcf: numbers of 1, 2, 4 or 8 bytes.
    const length = 1 << (type - 0xcc)
    numbers[i] =
      length === 8
        ? packed.readUInt32BE(at + 1) * 2 ** 32 + packed.readUInt32BE(at + 5)
        : packed.readUIntBE(at + 1, length)
    at += 1 + length
  }
  return numbers
}
