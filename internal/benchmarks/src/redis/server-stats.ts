// What a server reports about the commands that it ran.

import type { RedisServer } from '@weir/testkit'
import type { Server } from './stage.js'

export interface ScriptTime {
  readonly us: number
  readonly calls: number
  /** How long the work took. */
  readonly ms: number
}

/** The total microseconds of EVALSHA (or EVAL) during `work`, and their number. */
export async function scriptTime(
  server: RedisServer,
  work: () => Promise<unknown>,
): Promise<ScriptTime> {
  await resetStats([server])
  const start = performance.now()
  await work()
  const ms = performance.now() - start
  const stats = String(await server.command('INFO', 'commandstats'))
  // EVAL counts only for limiters that use no EVALSHA: Weir's heartbeat is an EVAL, now and then.
  const told =
    /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats) ??
    /cmdstat_eval:calls=(\d+),usec=(\d+)/.exec(stats)
  return { us: Number(told?.[2]), calls: Number(told?.[1]), ms }
}

/** How many stores a scenario has open at most. */
const STORES = 24

/** Whether the calls are the expected ones, and those that each store makes of its own: a beat and
 *  a heartbeat every three seconds. */
export function areOnly(expected: number, { calls, ms }: ScriptTime): boolean {
  return calls >= expected && calls <= expected + 2 * STORES * (1 + ms / 3_000)
}

export async function resetStats(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.command('CONFIG', 'RESETSTAT')))
}

/**
 * The scripts since the last reset, or the INCRs, of which each script may call one: whichever are
 * more. A heartbeat of another process is also a script.
 */
export async function sentCommands(servers: readonly Server[]): Promise<number> {
  const infos = await Promise.all(servers.map((server) => server.command('INFO', 'commandstats')))
  const stats = infos.join()
  const calls = (of: RegExp): number => {
    return [...stats.matchAll(of)].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  return Math.max(calls(/cmdstat_eval(?:sha)?:calls=(\d+)/g), calls(/cmdstat_incr:calls=(\d+)/g))
}
