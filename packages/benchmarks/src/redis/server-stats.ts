// What the server says of the scripts that it ran.

import type { RedisServer } from '@weir/testkit'

/** Microseconds of all EVALSHA (or EVAL) meanwhile, and how many there were. */
export async function scriptTime(
  server: RedisServer,
  work: () => Promise<unknown>,
): Promise<{ us: number; calls: number }> {
  await server.command('CONFIG', 'RESETSTAT')
  await work()
  const stats = String(await server.command('INFO', 'commandstats'))
  // EVAL only of those who know no EVALSHA: Weir's heartbeat is one, now and then.
  const told =
    /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats) ?? /cmdstat_eval:calls=(\d+),usec=(\d+)/.exec(stats)
  return { us: Number(told?.[2]), calls: Number(told?.[1]) }
}

/** The longest EVALSHA meanwhile, in ms. The time that the machine gave the server no CPU is in it. */
export async function longestScript(server: RedisServer, work: () => Promise<unknown>): Promise<number> {
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '10000')
  await server.command('SLOWLOG', 'RESET')
  await work()
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', '-1')
  const entries = (await server.command('SLOWLOG', 'GET', '10000')) as readonly SlowLogEntry[]
  const times = entries.filter(([, , , [command]]) => command === 'evalsha').map(([, , us]) => us)
  return Math.max(...times) / 1_000
}

type SlowLogEntry = readonly [
  id: number,
  at: number,
  us: number,
  command: readonly string[],
  ...rest: never[],
]
