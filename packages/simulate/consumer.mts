// Simulations of logs, by the types of @weir/simulate.
import { fixedWindow } from '@weir/core'
import { type LogEntry, parserOf, simulation, suggestion } from '@weir/simulate'
import { command } from '@weir/simulate/cli'
import { simulateLog } from '@weir/simulate/node'

const policies = { api: { policy: fixedWindow({ limit: 5, window: '1m' }), key: keyOf } }
function keyOf({ user }: LogEntry): string | undefined {
  return user
}

export const refused: number[] = simulation({ policies })
  .report()
  .limiters.flatMap(({ runs }) => runs.map((run) => run.refusedShare.share))
export const limits: (number | undefined)[] = suggestion({ affect: 0.01, windows: ['1m'] })
  .report()
  .windows.map(({ limit }) => limit)
export const entry: unknown = parserOf('json', { fields: { time: 'ts' } }).parse('{"ts":1}')
export const read: Promise<{ readonly log: { readonly lines: number } }> = simulateLog({
  logs: ['access.log'],
  policies,
})
export const run: typeof command = command

// @ts-expect-error a string is not a share
suggestion({ affect: '1%' })
// @ts-expect-error an unknown format
parserOf('xml')
