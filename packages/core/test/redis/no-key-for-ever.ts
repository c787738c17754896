// A globalSetup of vitest: after all tests have run, their servers must have no key without a TTL.
// A test that plants a foreign key gives it a TTL, or removes it.

import type { Connection } from '@weir/testkit'
import { openConnection } from '@weir/testkit'
import type { TestProject } from 'vitest/node'

type Ask = Pick<Connection, 'command'>

let project: TestProject | undefined

export function setup(tested: TestProject): void {
  project = tested
}

/**
 * Fails the run by its exit code, since an error here would only keep the servers from being
 * stopped.
 */
export async function teardown(): Promise<void> {
  const { redis } = (project as TestProject).getProvidedContext()
  for (const node of redis.flatMap(({ port, clusterPorts }) => [port, ...clusterPorts])) {
    const connection = openConnection(node)
    const names = await keysWithoutTtl(connection)
    connection.close()
    if (names.length === 0) continue
    process.exitCode = 1
    console.error(
      `FAIL  the tests left ${names.length} keys without a TTL: ${names.slice(0, 5).join(' ')}`,
    )
  }
}

export async function keysWithoutTtl(server: Ask): Promise<string[]> {
  // A replica answers for its keys only on request.
  await server.command('READONLY').catch(() => undefined)
  const forever: string[] = []
  let cursor = '0'
  do {
    const [next, names] = (await server.command('SCAN', cursor, 'COUNT', 1_000)) as [
      string,
      string[],
    ]
    const ttls = await Promise.all(names.map((name) => server.command('PTTL', name)))
    // Settings are kept until they are removed.
    forever.push(...names.filter((name, i) => ttls[i] === -1 && !name.includes('{settings:')))
    cursor = next
  } while (cursor !== '0')
  return forever
}
