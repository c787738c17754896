// Memory stores, with a new process for each subject and round.

import { nextMessage, startChild } from '../child.js'
import { exercises } from '../memory/exercises.js'
import type { Job } from '../memory/main.js'
import type { Exercise } from '../memory/subject.js'
import { EXPRESS, MAP, subjects } from '../memory/subjects.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

export const memoryOneKey: Scenario = {
  id: 'memory-one-key',
  title: 'In memory, one key',
  about:
    'CPU time of a decision, one after the other on one key, all allowed; those that answer with a promise are awaited. @nestjs/throttler is left out: it keeps an entry for each request of a key and looks at all of them each time.',
  measure: (scale) =>
    measure('one-key', scale, scale.rounds, [
      { id: 'cpuNs', title: 'CPU, ns', digits: 0, base: MAP },
    ]),
}

export const memoryManyKeys: Scenario = {
  id: 'memory-many-keys',
  title: 'In memory, 1,000,000 keys',
  about:
    'Bytes (heap and array buffers, after garbage collection) that a key takes after one request, beyond its text, which the caller also holds; and CPU time of a decision on a random one of them. rate-limiter-flexible and koa-ratelimit make key texts of their own. @fastify/rate-limit is told to keep all keys.',
  measure: (scale) =>
    measure('many-keys', scale, Math.ceil(scale.rounds / 2), [
      { id: 'bytes', title: 'bytes a key', digits: 0, base: EXPRESS },
      { id: 'cpuNs', title: 'CPU, ns', digits: 0, base: MAP },
    ]),
}

async function measure(
  exercise: Exercise,
  scale: Scale,
  rounds: number,
  metrics: readonly Metric[],
): Promise<readonly Table[]> {
  const kinds = subjects.filter(({ not }) => !not?.includes(exercise))
  const samples = await inRounds(kinds, rounds, (kind) => {
    if (!scale.fresh) return exercises[exercise](kind, scale)
    const job: Job = { subject: kind.name, exercise, scale }
    return nextMessage<Turn>(startChild('memory/main.js', job))
  })
  const rows = kinds.map(({ name, kind }, i) => ({
    subject: name,
    kind,
    samples: samples[i] ?? {},
  }))
  return [{ id: 'memory', title: 'In memory', metrics, rows }]
}
