// A block that a process has seen stands, whatever happens to Redis and its data.
import { countAtLeast, countAtMost } from '../checks.js'
import type { PolicySettings } from '../client/protocol.js'
import { type Fault, load, type Run, repeated, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const ATTEMPTS = 20
/** The block begins after a tenth of a second of load, and ends long after the row. */
const POLICY: PolicySettings = {
  make: 'lockout',
  options: { name: 'attempts', limit: ATTEMPTS, window: '1h', block: ['1h'], forget: '1d' },
}

const MUST = { must: 'let no attempt through until it ends' }

const held = ({ samples }: Run) => {
  const granted = samples.filter(({ allowed }) => allowed).length
  return [
    countAtMost('granted', granted, ATTEMPTS),
    countAtLeast('refused', samples.length - granted, 10 * ATTEMPTS),
  ]
}

export const lockOuts: readonly Row[] = [
  {
    number: '39',
    variant: 'FLUSHALL',
    fault: 'a key is blocked: FLUSHALL every 0.5 s',
    ...MUST,
    async run(stage, length) {
      const server = await stage.redis()
      const fault = repeated(500, async () => void (await server.command('FLUSHALL')))
      const run = await underFault(stage, length, [load(server.port, { policy: POLICY })], fault)
      return [...held(run), ...sane(run)]
    },
  },
  {
    number: '39',
    variant: 'away',
    fault: 'a key is blocked: Redis is away, and comes back empty',
    ...MUST,
    async run(stage, length) {
      const server = await stage.redis()
      const wire = await stage.proxy(server.port)
      const fault: Fault = {
        begin: () => wire.set('blackhole'),
        async end() {
          await server.command('FLUSHALL')
          await wire.set('pass')
        },
      }
      const job = load(wire.port, { policy: POLICY })
      const run = await underFault(stage, length, [job], fault, wire)
      return [...held(run), ...sane(run)]
    },
  },
]
