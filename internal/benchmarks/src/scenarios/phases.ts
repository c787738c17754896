// Phases: what a process has done before must not make it slower for good. V8 decides from the
// first objects of a literal where it allocates all later ones, so a process that had one hot key
// could need twice as much for distinct keys from then on, while another one would not.
import { BUILT, endChild, nextMessage, startChild } from '../child.js'
import { IN_FLIGHT } from '../redis/load.js'
import { onRedis } from '../redis/stage.js'
import type { SubjectJob, SubjectTurn } from '../redis/subject-main.js'
import { FIXED } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'

const FRESH = `${FIXED}, in a fresh process`
const AFTER = `${FIXED}, after a hot key`

const metrics: readonly Metric[] = [
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: FRESH },
  { id: 'slowestUs', title: 'of the slowest process, us', digits: 2, better: 'less', base: FRESH },
]

const table = 'phases'

export const phases: Scenario = {
  id: 'phases',
  title: 'Distinct keys after a hot key',
  about: `${IN_FLIGHT} requests in flight on distinct keys, in a process that has asked about nothing else, and in one that asked about one hot key before. Each round has two new processes, one after the other. V8 settles in three turns before the one that counts.`,
  goals: [],
  measure,
}

/** After these, V8 has settled, and has collected its old objects. */
const WARM_TURNS = 3

async function measure(scale: Scale): Promise<readonly Table[]> {
  const { rounds } = scale
  return onRedis([], async ({ port }) => {
    const samples = await inRounds([false, true], rounds, (isAfter) => turnOf(port, isAfter, scale))
    const rows = [FRESH, AFTER].map((subject, i): Row => {
      const { clientUs = [] } = samples[i] ?? {}
      return { subject, kind: 'weir', samples: { clientUs, slowestUs: [Math.max(...clientUs)] } }
    })
    return [{ id: table, title: 'What a decision costs', metrics, rows }]
  })
}

/** The cost of a decision on distinct keys in a new process. */
async function turnOf(port: number, isAfter: boolean, { turnMs, keys }: Scale): Promise<Turn> {
  const job: SubjectJob = { list: 'single', name: FIXED, ports: [port], exercise: 'distinct', keys }
  const child = startChild('redis/subject-main.js', job, [], BUILT)
  let turns = 0
  const take = (exercise: SubjectJob['exercise']): Promise<Turn> => {
    turns += 1
    child.send({ prefix: `t${turns}`, forMs: turnMs, exercise } satisfies SubjectTurn)
    return nextMessage<Turn>(child)
  }
  try {
    await nextMessage(child)
    if (isAfter) await take('hot')
    for (let i = 0; i < WARM_TURNS; i += 1) await take('distinct')
    const { clientUs = Number.NaN } = await take('distinct')
    return { clientUs }
  } finally {
    await endChild(child)
  }
}
