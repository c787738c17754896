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
  about: `CPU time of calling the middleware until it calls next(), memory store, ${CLIENTS.toLocaleString('en')} client addresses in turn, all allowed; what next() alone takes in the loop is subtracted. Each middleware has a process of its own. Requests are objects without a socket, responses are Node's. "${WEIR}" is rateLimit({ limit, window }) and its default headers, draft-8.`,
  measure,
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const running: ChildProcess[] = []
  try {
    for (const { name } of middleware) {
      const child = startChild('http/middleware-main.js', { name } satisfies MiddlewareJob)
      running.push(child)
      await nextMessage(child)
    }
    await inRounds(running, 2, (child) => middlewareTurn(child, 2 * turnMs))
    const samples = await inRounds(running, rounds, (child) => middlewareTurn(child, turnMs))
    const nothing = median(samples[middleware.findIndex(({ name }) => name === NOTHING)]?.us ?? [])
    const rows = middleware.map(({ name, kind }, i) => {
      return {
        subject: name,
        kind,
        samples: { us: (samples[i]?.us ?? []).map((us) => us - nothing) },
      }
    })
    return [{ id: table, title: 'What a request costs', metrics, rows: rows.slice(1) }]
  } finally {
    await Promise.all(running.map(endChild))
  }
}

export function middlewareTurn(child: ChildProcess, forMs: number): Promise<Turn> {
  child.send(forMs)
  return nextMessage(child)
}
