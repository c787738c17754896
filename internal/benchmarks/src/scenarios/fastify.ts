// What Weir's plugin and @fastify/rate-limit add to a request of Fastify.

import type { ChildProcess } from 'node:child_process'
import { startRedis } from '@weir/testkit'
import { endChild, nextMessage, startChild } from '../child.js'
import type { Goal } from '../goals.js'
import type { FastifyJob } from '../http/fastify-main.js'
import { CLIENTS } from '../http/job.js'
import { inRounds } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'
import { middlewareTurn } from './middleware.js'

const WEIR = 'Weir for Fastify'
const PEER = '@fastify/rate-limit'
const STORES = ['memory', 'redis'] as const

const metrics: readonly Metric[] = [
  { id: 'us', title: 'CPU, us', digits: 2, better: 'less', base: PEER },
]

const goals: readonly Goal[] = STORES.map((store) => ({
  ...{ table: `fastify-${store}`, metric: 'us', what: `CPU of a request, ${store}` },
  ...{ of: [WEIR], per: PEER, peer: PEER, floor: undefined, atMost: 0.6 },
}))

export const fastify: Scenario = {
  id: 'fastify',
  title: 'Fastify',
  about: `CPU time that the plugin adds to a request, ${CLIENTS.toLocaleString('en')} client addresses in turn, all allowed, 64 requests at once; what a request takes without a plugin is subtracted. Each app has a process of its own. Requests have no socket. Weir with a limit and a window; ${PEER} with the headers of the draft.`,
  goals,
  measure,
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const server = await startRedis()
  const jobs: readonly FastifyJob[] = [
    { kind: 'none' },
    ...STORES.flatMap((store) =>
      (['weir', 'peer'] as const).map((kind) =>
        store === 'redis' ? { kind, port: server.port } : { kind },
      ),
    ),
  ]
  const running: ChildProcess[] = []
  try {
    for (const job of jobs) {
      const child = startChild('http/fastify-main.js', job)
      running.push(child)
      await nextMessage(child)
    }
    await inRounds(running, 2, (child) => middlewareTurn(child, 2 * turnMs))
    const samples = await inRounds(running, rounds, (child) => middlewareTurn(child, turnMs))
    const usOf = (at: number): readonly number[] => samples[at]?.us ?? []
    return STORES.map((store, i) => ({
      id: `fastify-${store}`,
      title: `What the plugin adds, ${store}`,
      metrics,
      rows: ([WEIR, PEER] as const).map((subject, j) => ({
        subject,
        kind: j === 0 ? 'weir' : 'peer',
        // Of the same round, in which the machine is equally fast.
        samples: { us: usOf(1 + 2 * i + j).map((us, round) => us - (usOf(0)[round] as number)) },
      })),
    }))
  } finally {
    await Promise.all(running.map(endChild))
    await server.stop()
  }
}
