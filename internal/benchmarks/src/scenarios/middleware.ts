// What a middleware adds to a request, without a server around it.

import type { ChildProcess } from 'node:child_process'
import { endChild, nextMessage, startChild } from '../child.js'
import { CLIENTS } from '../http/job.js'
import { ERL_8, middleware, NOTHING, WEIR } from '../http/middleware.js'
import type { MiddlewareJob } from '../http/middleware-main.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { median } from '../statistics.js'
import type { Metric, Table } from '../table.js'

const metrics: readonly Metric[] = [
  {
    ...{ id: 'us', title: 'CPU, us', digits: 2, base: ERL_8 },
  },
]

const table = 'middleware'
export const middlewareAlone: Scenario = {
  id: 'middleware',
  title: 'Middleware alone',
  about: `CPU time of calling the middleware until it calls next(), memory store, ${CLIENTS.toLocaleString('en')} client addresses in turn, all allowed; what next() alone takes in the loop is subtracted. Each has a new process in each round, as V8 optimizes the same code differently in each. Requests are objects without a socket, responses are Node's. "${WEIR}" is rateLimit({ limit, window }) and its default headers, draft-8.`,
  measure,
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const samples = await inRounds(middleware, rounds, async ({ name }) => {
    const child = startChild('http/middleware-main.js', { name } satisfies MiddlewareJob)
    try {
      await nextMessage(child)
      for (let i = 0; i < 2; i += 1) await middlewareTurn(child, 2 * turnMs)
      return await middlewareTurn(child, turnMs)
    } finally {
      await endChild(child)
    }
  })
  const nothing = median(samples[middleware.findIndex(({ name }) => name === NOTHING)]?.us ?? [])
  const rows = middleware.map(({ name, kind }, i) => {
    return {
      subject: name,
      kind,
      samples: { us: (samples[i]?.us ?? []).map((us) => us - nothing) },
    }
  })
  return [{ id: table, title: 'What a request costs', metrics, rows: rows.slice(1) }]
}

export function middlewareTurn(child: ChildProcess, forMs: number): Promise<Turn> {
  child.send(forMs)
  return nextMessage(child)
}
