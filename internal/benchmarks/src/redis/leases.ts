// Weir with leases: a process takes units of a hot key ahead, and hands them out without asking
// Redis.

import { strict as assert } from 'node:assert'
import { type Decision, recommendedRedisOptions } from '@weir/core'
import { type RedisServer, startRedis } from '@weir/testkit'
import { calmly } from './calm.js'
import { connected } from './client.js'
import type { RedisSubject, RedisSubjectKind } from './subject.js'
import { FIXED, limiting, SLIDING } from './weir.js'

/** As in the documentation. */
const leases = { units: 100, holdMs: 50 }

export const leased: readonly RedisSubjectKind[] = [kindOf(FIXED), kindOf(SLIDING)]

function kindOf(name: string): RedisSubjectKind {
  return {
    name: `${name}, leases`,
    kind: 'weir',
    async open(port, limit) {
      return limiting(await connected(port, recommendedRedisOptions), name, limit, { leases })
    },
  }
}

const PROCESSES = 2
const LIMIT = 5_000
const CALLERS = 32

/**
 * Checks leases with two processes that request one key until well past its limit: together they
 * get no more than the limit, and no less than the limit without what each may hold. When they hold
 * nothing any more, Redis has counted all that they got.
 */
export async function checkLeases(): Promise<void> {
  const server = await startRedis()
  try {
    for (const kind of leased) await checkOne(server, kind)
  } finally {
    await server.stop()
  }
}

async function checkOne({ port }: RedisServer, { name, open }: RedisSubjectKind): Promise<void> {
  const subjects: RedisSubject[] = []
  try {
    for (let i = 0; i < PROCESSES; i += 1) subjects.push(await open(port, LIMIT))
    await calmly(disturbedIfAny(subjects), (attempt) =>
      together(name, subjects, `leased-${attempt}`),
    )
  } finally {
    await Promise.all(subjects.map((subject) => subject.close()))
  }
}

/** Asks all of them, since each forgets when it is asked. */
function disturbedIfAny(subjects: readonly RedisSubject[]): Pick<RedisSubject, 'disturbed'> {
  return { disturbed: () => subjects.map(({ disturbed }) => disturbed?.()).includes(true) }
}

async function together(
  name: string,
  subjects: readonly RedisSubject[],
  key: string,
): Promise<void> {
  let allowed = 0
  let ahead = 0
  let last: Decision | undefined
  await Promise.all(
    subjects.flatMap(({ ask }) => {
      let asked = 0
      return Array.from({ length: CALLERS }, async () => {
        for (; asked < LIMIT; asked += 1) {
          last = (await ask(key)) as Decision
          if (!last.allowed) continue
          allowed += 1
          if (last.source !== 'store') ahead += 1
        }
      })
    }),
  )
  const least = LIMIT - PROCESSES * leases.units
  assert.ok(ahead > LIMIT / 2, `${name} took only ${ahead} of ${allowed} out of leases`)
  assert.ok(allowed <= LIMIT, `${name} let ${allowed} pass at a limit of ${LIMIT}`)
  assert.ok(allowed >= least, `${name} let only ${allowed} pass, where ${least} must`)
  const left = []
  for (const subject of subjects) left.push(await subject.left(last))
  const most = LIMIT - allowed
  assert.ok((left.at(-1) as number) <= most, `${name} has counted less than it let pass`)
}
