// Weir's calls, to be sent again and again: the real limiter asks a simulated server, and its
// commands are recorded.

import { processTime } from '../../../../packages/core/src/base/time.js'
import { RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import type { Connection, Send } from '../../../../packages/core/src/redis/connection.js'
import { redisStoreIn } from '../../../../packages/core/src/redis/store.js'
import { SimulatedRedis } from '../redis/server.js'
import { policyFor, type Workload } from './load.js'

export interface Recorded {
  /** The script. */
  readonly source: string
  /** The command of each call, in RESP. */
  readonly calls: readonly Buffer[]
}

/** Calls with `keys` keys each, all of them different: user-0, user-1, ... */
export async function recordedCalls(
  workload: Workload,
  count: number,
  keys: number,
): Promise<Recorded> {
  const redis = new SimulatedRedis(processTime.nowUs)
  const calls: Buffer[] = []
  let source = ''
  const send: Send = async (command, args) => {
    if (command === 'eval') source = args[0] as string
    else calls.push(inResp([command, ...args]))
    return redis.run(command, args)
  }
  const store = redisStoreIn(processTime, connectionBy(send), { instances: 1, denyCache: false })
  const limiter = new RateLimiter({ name: 'plan', store, policy: policyFor(workload) })
  // The first call loads the script.
  await limiter.consume('first')
  calls.length = 0
  for (let i = 0; i < count; i += 1) {
    const names = Array.from({ length: keys }, (_, j) => `user-${i * keys + j}`)
    await Promise.all(names.map((name) => limiter.consume(name)))
  }
  await store.close()
  limiter.close()
  return { source, calls }
}

function inResp(parts: readonly string[]): Buffer {
  const bulks = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
  return Buffer.from(`*${parts.length}\r\n${bulks.join('')}`)
}

function connectionBy(send: Send): Connection {
  return {
    place: ['recorded'],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    nodeOf: () => undefined,
    call: send,
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, send)
    },
    unready: () => undefined,
    attempt: () => undefined,
  }
}
