// A redis-server of its own for each scenario, and the subjects on it, checked.

import { type RedisServer, startRedis } from '@weir/testkit'
import { checkLimit } from '../exactness.js'
import { LIMIT, type RedisSubject, type RedisSubjectKind } from './subject.js'

export interface Opened extends RedisSubjectKind {
  readonly subject: RedisSubject
}

/** Runs `work` with a server, and the subjects open on it with a limit that is not reached. */
export async function onRedis<Result>(
  kinds: readonly RedisSubjectKind[],
  work: (server: RedisServer, opened: readonly Opened[]) => Promise<Result>,
): Promise<Result> {
  const server = await startRedis()
  const opened: Opened[] = []
  try {
    for (const kind of kinds) {
      await checkedLimit(server, kind)
    }
    await server.command('FLUSHDB')
    for (const kind of kinds) opened.push({ ...kind, subject: await kind.open(server.port, LIMIT) })
    return await work(server, opened)
  } finally {
    await Promise.all(opened.map(({ subject }) => subject.close()))
    await server.stop()
  }
}

/** Twice, if need be: on a busy machine a decision may be made without Redis, and its count is another. */
async function checkedLimit(server: RedisServer, { name, open }: RedisSubjectKind): Promise<void> {
  const check = async (): Promise<void> => {
    await server.command('FLUSHDB')
    await checkLimit(name, (limit) => open(server.port, limit), true)
  }
  await check().catch(check)
}
