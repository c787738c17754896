// An attack: distinct keys as fast as possible, while one exhausted key might be forgotten.
import type { RateLimiter, RedisStore } from '@weir/core'
import type { Flood, Recovered } from './protocol.js'
import { now } from './time.js'

/** The decisions between two turns of the event loop. */
const A_TURN = 200

export async function flood(limiter: RateLimiter, keys: number): Promise<Flood> {
  const latencies = new Float32Array(keys)
  let errors = 0
  const ask = async (key: string): Promise<boolean> => {
    try {
      return (await limiter.consume(key)).allowed
    } catch {
      errors += 1
      return false
    }
  }
  for (let i = 0; i < 1_000 && (await ask('exhausted')); i += 1);
  const memoryBefore = memoryMb()
  let longestTurnMs = 0
  for (let i = 0; i < keys; i += 1) {
    const begun = now()
    await ask(`key-${i}`)
    latencies[i] = now() - begun
    if (i % A_TURN === 0) longestTurnMs = Math.max(longestTurnMs, await cpuOfOthers())
  }
  const memoryGrowthMb = memoryMb() - memoryBefore
  const exhaustedAdmitted = await ask('exhausted')
  latencies.sort()
  const p99 = latencies[Math.floor(keys * 0.99)] ?? 0
  const collectionMs = await cpuOf(() => void globalThis.gc?.())
  return { p99, memoryGrowthMb, longestTurnMs, collectionMs, errors, exhaustedAdmitted }
}

/** Waits until everything that was admitted without the store has been counted in it. */
export async function recover(store: RedisStore): Promise<Recovered> {
  const keys = store.health().localKeys
  let longestTurnMs = 0
  while (store.health().localKeys > 0) {
    longestTurnMs = Math.max(longestTurnMs, await cpuOfOthers())
  }
  return { keys, longestTurnMs }
}

/** Lets other tasks on the event loop run, and returns the CPU time that they took. */
function cpuOfOthers(): Promise<number> {
  return cpuOf(() => new Promise<void>((resolve) => setImmediate(resolve)))
}

async function cpuOf(work: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** The memory in use after a collection, with tables: needs `node --expose-gc`. */
function memoryMb(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}
