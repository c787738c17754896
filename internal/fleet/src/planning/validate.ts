// Compares real processes and a real server with their simulation: both have the same store, policy
// and load, and count the same things.

import { type ChildProcess, fork } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { Inputs } from './inputs.js'
import { PLAIN, type Workload } from './load.js'
import type { Job, Ran } from './process-main.js'
import { statsOf } from './server-stats.js'
import { type Figures, type Rates, simulate } from './simulate.js'
import { quantile, sum } from './statistics.js'

const PROCESSES = [1, 2, 4, 8] as const
const FOR_MS = 3_000
/** If the machine delayed more than this part of the ticks, the run is repeated. */
const MOST_MISSED = 0.02
const TRIES = 3
let runs = 0

export interface Real extends Rates {
  readonly redis: number
  readonly p50Us: number
  readonly p99Us: number
  /** Decisions without Redis, since it did not answer in time. */
  readonly local: number
  /** The part of the ticks that came together with the next one. */
  readonly missed: number
  /** The part of all cores that the processes and Redis used. */
  readonly cores: number
}

export interface Validated {
  readonly load: string
  readonly processes: number
  readonly real: Real
  readonly simulated: Figures
}

/** Loads with some denials. */
const LOADS: Readonly<Record<string, (processes: number) => Workload>> = {
  'many keys': (processes) => ({
    ...loadOf(processes, 1_200),
    keys: 200 * processes,
    limit: 4,
  }),
  'many keys, four decisions in a row': (processes) => ({
    ...loadOf(processes, 300),
    keys: 200 * processes,
    limit: 4,
    steps: 4,
  }),
  'one hot key': (processes) => ({ ...loadOf(processes, 1_500), limit: 1_000 * processes }),
  'one hot key, leases': (processes) => ({
    ...loadOf(processes, 1_500),
    limit: 1_000 * processes,
    leases: true,
  }),
}

function loadOf(processes: number, perSecond: number): Workload {
  const whole = { processes, perSecond: perSecond * processes }
  return { ...PLAIN, ...whole, keys: 1, limit: 1, windowMs: 1_000 }
}

export async function validate(
  inputs: Inputs,
  tell: (what: string) => void,
): Promise<readonly Validated[]> {
  const server = await startRedis()
  const children: ChildProcess[] = []
  const all: Validated[] = []
  try {
    for (let i = 0; i < Math.max(...PROCESSES); i += 1) children.push(await startChild(server))
    for (const [load, workloadOf] of Object.entries(LOADS)) {
      for (const processes of PROCESSES) {
        tell(`validating ${load}, ${processes} processes`)
        const workload = workloadOf(processes)
        const real = await calmRun(server, children.slice(0, processes), workload)
        const simulated = await simulate(
          workload,
          {
            masters: 1,
            wayUs: inputs.wayUs,
            comes: 'in ticks',
            warmUpMs: 0,
            forMs: FOR_MS,
          },
          inputs,
        )
        all.push({ load, processes, real, simulated })
      }
    }
    return all
  } finally {
    for (const child of children) if (child.connected) child.disconnect()
    await server.stop()
  }
}

async function startChild(server: RedisServer): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('process-main.js', import.meta.url)), [`${server.port}`])
  await answerOf(child)
  return child
}

/** The first run without disturbance, or else the run with the least. */
async function calmRun(
  server: RedisServer,
  children: readonly ChildProcess[],
  workload: Workload,
): Promise<Real> {
  let best: Real | undefined
  for (let i = 0; i < TRIES; i += 1) {
    const one = await realRun(server, children, workload)
    if (best === undefined || one.missed < best.missed) best = one
    if (one.missed <= MOST_MISSED && one.local === 0) return one
  }
  return best as Real
}

async function realRun(
  server: RedisServer,
  children: readonly ChildProcess[],
  workload: Workload,
): Promise<Real> {
  // As long as the simulated run.
  runs += 1
  const name = `p${String(runs).padStart(3, '0')}`
  await server.command('FLUSHALL')
  await asked(children, (rank): Job => ({ workload, name, rank, forMs: FOR_MS }))
  await server.command('CONFIG', 'RESETSTAT')
  const before = await statsOf(server)
  const outcomes = await asked<Ran>(children, () => 'go')
  const after = await statsOf(server)
  const seconds = FOR_MS / 1_000
  const tookUs = outcomes.flatMap((outcome) => outcome.tookUs).sort((a, b) => a - b)
  const counted = (of: 'calls' | 'bytesIn' | 'bytesOut'): number =>
    (after[of] - before[of]) / seconds
  return {
    decisions: tookUs.length / seconds,
    admitted: sum(outcomes.map(({ admitted }) => admitted)) / seconds,
    calls: counted('calls'),
    bytesIn: counted('bytesIn'),
    // The first INFO did not count its own reply.
    bytesOut: counted('bytesOut') - before.replyBytes / seconds,
    redis: (after.cpuUs - before.cpuUs) / 1e6 / seconds,
    p50Us: quantile(tookUs, 0.5),
    p99Us: quantile(tookUs, 0.99),
    missed: sum(outcomes.map(({ missed }) => missed)) / outcomes.length,
    local: sum(outcomes.map(({ local }) => local)),
    cores:
      (sum(outcomes.map(({ cpuUs }) => cpuUs)) + after.allCpuUs - before.allCpuUs) /
      1e6 /
      seconds /
      cpus().length,
  }
}

/** Sends something to each child, and waits for its answer. */
async function asked<Answer>(
  children: readonly ChildProcess[],
  messageOf: (rank: number) => Job | 'go',
): Promise<Answer[]> {
  const answers = children.map((child) => answerOf<Answer>(child))
  children.forEach((child, rank) => {
    child.send(messageOf(rank))
  })
  return Promise.all(answers)
}

function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`a process has ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as Answer)
    })
  })
}
