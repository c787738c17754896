// A separate server for a scenario, and subjects on it whose limits are checked.

import { type RedisServer, serverBinary, startRedis } from '@weir/testkit'
import { checkLimit } from '../exactness.js'
import { LIMIT, type RedisSubject, type RedisSubjectKind } from './subject.js'

/** A running server, started by this process or another. */
export type Server = Pick<RedisServer, 'port' | 'command'>

export interface Opened extends RedisSubjectKind {
  readonly subject: RedisSubject
}

/** Runs `work` with a server, and with subjects on it whose limit is not reached. */
export async function onRedis<Result>(
  kinds: readonly RedisSubjectKind[],
  work: (server: RedisServer, opened: readonly Opened[]) => Promise<Result>,
  binary: string = serverBinary(),
): Promise<Result> {
  const server = await startRedis({ binary })
  try {
    return await withSubjects(server, kinds, (opened) => work(server, opened))
  } finally {
    await server.stop()
  }
}

export async function withSubjects<Result>(
  server: Server,
  kinds: readonly RedisSubjectKind[],
  work: (opened: readonly Opened[]) => Promise<Result>,
): Promise<Result> {
  const opened: Opened[] = []
  try {
    for (const kind of kinds) await checkedLimit(server, kind)
    await server.command('FLUSHDB')
    for (const kind of kinds) opened.push({ ...kind, subject: await kind.open(server.port, LIMIT) })
    return await work(opened)
  } finally {
    await Promise.all(opened.map(({ subject }) => subject.close()))
  }
}

/**
 * Checks a second time if needed: on a busy machine a decision may be made without Redis, and then
 * its count is wrong.
 */
async function checkedLimit(server: Server, { name, open }: RedisSubjectKind): Promise<void> {
  const check = async (): Promise<void> => {
    await server.command('FLUSHDB')
    await checkLimit(name, (limit) => open(server.port, limit), true)
  }
  await check().catch(check)
}
