// What a real server says of itself.

import type { RedisServer } from '@weir/testkit'

export interface ServerStats {
  /** CPU of its main thread, in microseconds; and of all. */
  readonly cpuUs: number
  readonly allCpuUs: number
  /** Scripts that were called. */
  readonly calls: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Of the reply that says so, which is not in `bytesOut`. */
  readonly replyBytes: number
  readonly usedMemory: number
}

export async function statsOf(server: Pick<RedisServer, 'command'>): Promise<ServerStats> {
  const info = String(await server.command('INFO', 'everything'))
  const total = (pattern: RegExp): number =>
    [...info.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0)
  const replyBytes = Buffer.byteLength(info) + String(info.length).length + 5
  return {
    cpuUs: total(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm) * 1e6,
    allCpuUs: total(/^used_cpu_(?:sys|user):([\d.]+)/gm) * 1e6,
    calls: total(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm),
    bytesIn: total(/^total_net_input_bytes:(\d+)/gm),
    bytesOut: total(/^total_net_output_bytes:(\d+)/gm),
    replyBytes,
    usedMemory: total(/^used_memory:(\d+)/gm),
  }
}
