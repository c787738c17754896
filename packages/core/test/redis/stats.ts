// The statistics of a server.

import type { Connection } from '@weir/testkit'

type Ask = Pick<Connection, 'command'>

/** How often each command was called since CONFIG RESETSTAT, by its name in lower case. */
export async function callsOf(server: Ask): Promise<Record<string, number>> {
  const info = String(await server.command('INFO', 'commandstats'))
  const calls = [...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)]
  return Object.fromEntries(calls.map(([, name, times]) => [name as string, Number(times)]))
}
