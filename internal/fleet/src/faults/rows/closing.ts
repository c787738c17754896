// The service is shut down while Redis is away.
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@weir/testkit'
import { msAtMost } from '../checks.js'
import { now } from '../client/time.js'
import { load, runOf } from '../outage.js'
import type { Row } from '../row.js'
import type { Wire } from '../stage.js'
import { sane } from '../verdicts.js'

type Ail = (wire: Wire) => Promise<void>

function closingRow(variant: string, ail: Ail, upAtStart = true): Row {
  return {
    number: '25',
    variant,
    fault: `close() during a fault: ${variant}`,
    must: 'end',
    async run(stage) {
      const port = upAtStart ? (await stage.redis()).port : await freePort()
      const wire = await stage.proxy(port)
      if (!upAtStart) await ail(wire)
      const job = load(wire.port, { awaitReady: upAtStart })
      const [early, late] = await Promise.all([stage.client(job), stage.client(job)])
      await sleep(500)
      const from = now()
      if (upAtStart) await ail(wire)
      // One close while requests are in flight and the breaker is still closed, one well
      // afterwards.
      await sleep(50)
      const first = await early.stop({ drainMs: 0 })
      await sleep(1_000)
      const reports = [first, await late.stop({ drainMs: 0 })]
      const run = runOf(reports, { from, to: now() }, now(), wire)
      const slowest = Math.max(
        ...reports.map(({ closing }) => closing?.closeMs ?? Number.POSITIVE_INFINITY),
      )
      return [msAtMost('close()', slowest, 1_000), ...sane(run)]
    },
  }
}

export const closing: readonly Row[] = [
  closingRow('hung', (wire) => wire.set('blackhole')),
  closingRow('gone', (wire) => wire.set('refuse')),
  closingRow('slow', (wire) => wire.set({ latencyMs: 300 })),
  closingRow('never there', (wire) => wire.set('refuse'), false),
  closingRow('none', async () => {}),
]
