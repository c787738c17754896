// Connections that come and go, and lost data: each is a chance to grant the limit again.
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@weir/testkit'
import { now } from '../client/time.js'
import type { Loss } from '../figures.js'
import { type Fault, LIMIT, load, repeated, underFault, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import type { Stage, Wire } from '../stage.js'
import { admitted, sane, slowest } from '../verdicts.js'

function flappingRow(
  row: Pick<Row, 'number' | 'variant' | 'fault'>,
  client: 'recommended' | 'plain',
  provoke: (wire: Wire, command: (...args: string[]) => Promise<unknown>) => Fault,
): Row {
  return {
    ...row,
    must: 'give no double budget',
    async run(stage, length) {
      const server = await stage.redis()
      const wire = await stage.proxy(server.port)
      const fault = provoke(wire, (...args) => server.command(...args))
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
const RESTORE = 'restore what was last seen'

const flushAll: Row = {
  number: '5b',
  variant: 'FLUSHALL',
  notWithLeases:
    'one that ends after a loss gives units back, which keeps what was seen before from being restored',
  fault: 'data lost under load: FLUSHALL every 0.5 s',
  must: RESTORE,
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

/** One long window that is two thirds used when the data are lost, so the loss shows at once. */
const LONG_LIMIT = 600
const LONG_WINDOW_MS = 60_000
const HEARD_MS = 1_000

/**
 * A replica takes over that has received nothing recently, or nothing at all; this is noticed at
 * once, or after an outage.
 */
function takenOver(variant: string, heardMs: number, awayMs: number): Row {
  return {
    number: '5b',
    variant,
    fault: `data lost under load: ${variant}`,
    must: RESTORE,
    async run(stage, length) {
      const { wire, silence, takeOver } = await pair(stage)
      const options = { name: 'long', limit: LONG_LIMIT, window: LONG_WINDOW_MS }
      const job = load(wire.port, { policy: { make: 'fixedWindow', options } })
      if (heardMs === 0) await silence()
      const losses: Loss[] = []
      const fault: Fault = {
        async begin() {
          if (heardMs > 0) {
            await silence()
            await sleep(HEARD_MS)
          }
          const from = now()
          await takeOver(awayMs)
          losses.push({ from, to: now() })
        },
        end() {},
      }
      const run = await underFault(stage, { ...length, warmUpMs: HEARD_MS }, [job], fault, wire)
      return [admitted(run, LONG_LIMIT, LONG_WINDOW_MS, losses), ...sane(run)]
    },
  }
}

interface Pair {
  readonly wire: Wire
  /** The replica receives nothing any more. */
  silence(): Promise<void>
  takeOver(awayMs: number): Promise<void>
}

/** A primary behind a proxy, and a replica. */
async function pair(stage: Stage): Promise<Pair> {
  // Serves replicas at once, and not after some seconds in which more might connect.
  const primary = await stage.redis({ args: ['--repl-diskless-sync-delay', '0'] })
  const link = await stage.proxy(primary.port)
  const args = ['--replicaof', '127.0.0.1', String(link.port)]
  const replica = await stage.redis({ args })
  await waitUntil('the replica to follow', async () => {
    return String(await replica.command('INFO', 'replication')).includes('master_link_status:up')
  })
  const wire = await stage.proxy(primary.port)
  return {
    wire,
    silence: () => link.set('blackhole'),
    async takeOver(awayMs) {
      wire.retarget(replica.port)
      await replica.command('REPLICAOF', 'NO', 'ONE')
      if (awayMs > 0) await wire.set('refuse')
      else await wire.set('reset')
      primary.kill()
      await sleep(awayMs)
      await wire.set('pass')
    },
  }
}

export const flapping: readonly Row[] = [
  flappingRow(RESETS, 'recommended', resets),
  flappingRow({ ...RESETS, variant: 'plain client' }, 'plain', resets),
  flappingRow({ number: '12', fault: 'CLIENT KILL every 200 ms' }, 'recommended', (_, command) =>
    repeated(200, () => command('CLIENT', 'KILL', 'TYPE', 'normal')),
  ),
  flushAll,
  takenOver('a replica 1 s behind, at once', HEARD_MS, 0),
  takenOver('a replica 1 s behind, after an outage', HEARD_MS, 500),
  takenOver('an empty replica, after an outage', 0, 500),
]
