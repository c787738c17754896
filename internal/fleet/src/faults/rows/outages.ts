// Redis is completely away for a while: dead, hung, cut off by the network, slow, or not started
// yet.
import { freePort, type RedisServer } from '@weir/testkit'
import type { Check } from '../checks.js'
import { type Fault, KEY, killed, LIMIT, load, type Run, underFault } from '../outage.js'
import type { Row } from '../row.js'
import type { Stage, Wire } from '../stage.js'
import {
  connectedAnew,
  latency,
  median,
  normalWithin,
  opened,
  over,
  sane,
  sentWhileOpen,
  slow,
  slowest,
} from '../verdicts.js'

interface Scene {
  readonly stage: Stage
  readonly server: RedisServer
  readonly wire: Wire
}

interface Outage extends Omit<Row, 'run'> {
  fault: string
  /** False: Redis starts only when the fault ends. */
  readonly upAtStart?: false
  provoke(scene: Scene, faultMs: number): Fault
  judge(run: Run, scene: Scene): readonly Check[]
}

const gone = (run: Run, { stage }: Scene): Check[] => [
  opened(run),
  sentWhileOpen(run, [KEY], stage.changes),
  ...sane(run),
]

const kill: Outage = {
  number: '2',
  fault: 'kill -9, back empty',
  must: 'local at once, back alone',
  provoke: ({ stage, server, wire }) => killed(stage, server, wire),
  judge: (run, scene) => [
    slowest(run, 150),
    median(run, 2),
    over(run, 2 * LIMIT - 1),
    normalWithin(run, 1_500),
    ...gone(run, scene),
  ],
}

const HUNG = {
  judge: (run: Run, scene: Scene): readonly Check[] => [
    slow(run, 50, 0.03),
    slowest(run, 150),
    median(run, 2),
    over(run, 2 * LIMIT),
    normalWithin(run, 1_500),
    ...gone(run, scene),
  ],
}

const stop: Outage = {
  number: '3',
  fault: 'SIGSTOP',
  must: 'deadline, then breaker',
  provoke: ({ server }) => ({
    begin: () => server.kill('SIGSTOP'),
    end: () => server.kill('SIGCONT'),
  }),
  ...HUNG,
}

const blackHole: Outage = {
  number: '4',
  fault: 'black hole',
  must: 'the same, and give the socket up',
  provoke: ({ wire }) => ({ begin: () => wire.set('blackhole'), end: () => wire.set('pass') }),
  judge: (run, scene) => [
    ...HUNG.judge(run, scene),
    ...connectedAnew(scene.wire, scene.stage.changes),
  ],
}

const restart: Outage = {
  number: '5',
  fault: 'restart, back empty at once',
  must: 'show no error',
  provoke: (scene, faultMs) => {
    const { begin, end } = kill.provoke(scene, faultMs)
    return {
      async begin() {
        await begin()
        await end()
      },
      end() {},
    }
  },
  judge: (run) => [
    over(run, 2 * LIMIT - 1),
    slowest(run, 150),
    normalWithin(run, 1_500),
    ...sane(run),
  ],
}

const latency200: Outage = {
  number: '10',
  fault: '+200 ms',
  must: 'breaker by deadline; local',
  provoke: ({ wire }) => ({
    begin: () => wire.set({ latencyMs: 100 }),
    end: () => wire.set('pass'),
  }),
  judge: (run, scene) => [
    median(run, 2),
    latency(run, 0.99, 110),
    over(run, 2 * LIMIT),
    ...gone(run, scene),
  ],
}

const pause: Outage = {
  number: '13',
  fault: 'CLIENT PAUSE',
  must: 'deadline, then breaker',
  // The pause ends by itself, since a paused server accepts no command to end it.
  provoke: ({ server }, faultMs) => ({
    async begin() {
      await server.command('CLIENT', 'PAUSE', faultMs, 'ALL')
    },
    end() {},
  }),
  ...HUNG,
}

const coldStart: Outage = {
  number: '16',
  fault: 'cold start: Redis comes later',
  must: 'serve from the first request',
  upAtStart: false,
  provoke: ({ stage, server, wire }) => ({ ...killed(stage, server, wire), begin() {} }),
  judge: (run) => [slowest(run, 150), over(run, 2 * LIMIT), normalWithin(run, 1_500), ...sane(run)],
}

function rowOf(
  { upAtStart, provoke, judge, ...row }: Outage,
  client: 'recommended' | 'plain',
): Row {
  return {
    ...row,
    async run(stage, length) {
      const server = upAtStart === false ? absent(await freePort()) : await stage.redis()
      const wire = await stage.proxy(server.port)
      if (upAtStart === false) await wire.set('refuse')
      const scene = { stage, server, wire }
      const course = upAtStart === false ? { ...length, warmUpMs: 0 } : length
      const job = load(wire.port, { client, awaitReady: upAtStart !== false })
      const run = await underFault(stage, course, [job], provoke(scene, length.faultMs), wire)
      return judge(run, scene)
    },
  }
}

/**
 * A client without options notices and reconnects later; it must not hang, and must not let
 * everything pass.
 */
function plain(outage: Outage): Row {
  return rowOf(
    {
      ...outage,
      variant: 'plain client',
      judge: (run) => [slowest(run, 150), over(run, 2 * LIMIT), ...sane(run)],
    },
    'plain',
  )
}

function absent(port: number): RedisServer {
  return { port } as RedisServer
}

export const outages: readonly Row[] = [
  ...[kill, stop, blackHole, restart, latency200, pause, coldStart].map((outage) =>
    rowOf(outage, 'recommended'),
  ),
  ...[kill, stop, blackHole, coldStart].map(plain),
]
