// The statistics of a real server.

import type { RedisServer } from '@weir/testkit'

export interface ServerStats {
  /** The CPU time of its main thread and of all threads, in microseconds. */
  readonly cpuUs: number
  readonly allCpuUs: number
  /** The number of script calls. */
  readonly calls: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** The size of the reply with these statistics, which is not in `bytesOut`. */
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
