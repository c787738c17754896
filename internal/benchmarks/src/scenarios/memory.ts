// Memory stores, with a new process for each subject and round.

import { nextMessage, startChild } from '../child.js'
import { exercises } from '../memory/exercises.js'
import type { Job } from '../memory/main.js'
import { EXPRESS, MAP, subjects } from '../memory/subjects.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'bytes', title: 'bytes a key', digits: 0, base: EXPRESS },
  { id: 'cpuNs', title: 'CPU, ns', digits: 0, base: MAP },
]

export const memoryManyKeys: Scenario = {
  id: 'memory-many-keys',
  title: 'In memory, 1,000,000 keys',
  about:
    'Bytes (heap and array buffers, after garbage collection) that a key takes after one request, beyond its text, which the caller also holds; and CPU time of a decision on a random one of them. rate-limiter-flexible and koa-ratelimit make key texts of their own. @fastify/rate-limit is told to keep all keys.',
  measure,
}

async function measure(scale: Scale): Promise<readonly Table[]> {
  const kinds = subjects.filter(({ not }) => !not?.includes('many-keys'))
  const samples = await inRounds(kinds, Math.ceil(scale.rounds / 2), (kind) => {
    if (!scale.fresh) return exercises['many-keys'](kind, scale)
    const job: Job = { subject: kind.name, exercise: 'many-keys', scale }
    return nextMessage<Turn>(startChild('memory/main.js', job))
  })
  const rows = kinds.map(({ name, kind }, i) => ({
    subject: name,
    kind,
    samples: samples[i] ?? {},
  }))
  return [{ id: 'memory', title: 'In memory', metrics, rows }]
}
