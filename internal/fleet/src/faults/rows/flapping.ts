// Connections that come and go, and lost data: each is a chance to grant the limit again.
import { now } from '../client/time.js'
import type { Loss } from '../figures.js'
import { type Fault, LIMIT, load, repeated, underFault, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import type { Wire } from '../stage.js'
import { admitted, sane, slowest } from '../verdicts.js'

function flappingRow(
  row: Pick<Row, 'number' | 'variant' | 'fault'>,
  client: 'recommended' | 'plain',
  provoke: (wire: Wire) => Fault,
): Row {
  return {
    ...row,
    must: 'give no double budget',
    async run(stage, length) {
      const server = await stage.redis()
      const wire = await stage.proxy(server.port)
      const fault = provoke(wire)
      const run = await underFault(stage, length, [load(wire.port, { client })], fault, wire)
      return [admitted(run), slowest(run, 150), ...sane(run)]
    },
  }
}

const resets = (wire: Wire): Fault =>
  repeated(100, async () => {
    await wire.set('reset')
    await wire.set('pass')
  })

const RESETS = { number: '11', fault: 'connections reset every 100 ms' }

/** Answers are final, so requests in flight when a loss showed may pass a second time. */
const flushAll: Row = {
  number: '5b',
  notWithLeases:
    'one that ends after a loss gives units back, which keeps what was seen before from being restored',
  fault: 'data lost under load: FLUSHALL every 0.5 s',
  must: 'restore what was last seen',
  async run(stage, length) {
    const server = await stage.redis()
    const losses: Loss[] = []
    const fault = repeated(500, async () => {
      const from = now()
      await server.command('FLUSHALL')
      losses.push({ from, to: now() })
    })
    const run = await underFault(stage, length, [load(server.port)], fault)
    return [admitted(run, LIMIT, WINDOW_MS, losses), ...sane(run)]
  },
}

export const flapping: readonly Row[] = [
  flappingRow(RESETS, 'recommended', resets),
  flappingRow({ ...RESETS, variant: 'plain client' }, 'plain', resets),
  flushAll,
]
