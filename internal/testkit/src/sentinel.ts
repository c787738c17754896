// A master, its replica, and the Sentinels that monitor them.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RedisServer, startRedis, startServer } from './server.js'
import { waitUntil } from './wait.js'

export interface RedisSentinel {
  /** The name by which the Sentinels know the master. */
  readonly name: string
  readonly sentinels: readonly RedisServer[]
  readonly sentinelPorts: readonly number[]
  /** The two data servers: the first is the master at the start. */
  readonly servers: readonly RedisServer[]
  /** The port of the current master, according to the Sentinels. */
  masterPort(): Promise<number>
  stop(): Promise<void>
}

export interface SentinelOptions {
  readonly sentinels?: number
  /** How long the master may be silent before a Sentinel takes it for dead. */
  readonly downAfterMs?: number
  readonly args?: readonly string[]
}

export async function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { sentinels: count = 3, downAfterMs = 500, args = [] } = options
  const name = 'weir'
  const diskless = ['--repl-diskless-sync-delay', '0', ...args]
  const master = await startRedis({ args: diskless })
  const replica = await startRedis({
    args: [...diskless, '--replicaof', '127.0.0.1', String(master.port)],
  })
  const quorum = Math.floor(count / 2) + 1
  const sentinels = await Promise.all(
    Array.from({ length: count }, () =>
      startOne([
        `sentinel monitor ${name} 127.0.0.1 ${master.port} ${quorum}`,
        `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
        `sentinel failover-timeout ${name} 3000`,
      ]),
    ),
  )
  const stop = async (): Promise<void> => {
    await Promise.all([...sentinels, replica, master].map((server) => server.stop()))
  }
  try {
    for (const sentinel of sentinels) {
      await waitUntil('a Sentinel to know the others', () => knowsAll(sentinel, name, count - 1))
    }
  } catch (error) {
    await stop()
    throw error
  }
  return {
    name,
    sentinels,
    sentinelPorts: sentinels.map(({ port }) => port),
    servers: [master, replica],
    async masterPort() {
      const address = await sentinels[0]?.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
      return Number((address as readonly string[])[1])
    },
    stop,
  }
}

/** Starts a Sentinel. Each needs its own configuration file, which it rewrites as it runs. */
function startOne(monitor: readonly string[]): Promise<RedisServer> {
  return startServer(async (folder, port) => {
    const file = join(folder, 'sentinel.conf')
    const lines = [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...monitor]
    await writeFile(file, `${lines.join('\n')}\n`)
    return [file, '--sentinel']
  })
}

async function knowsAll(sentinel: RedisServer, name: string, others: number): Promise<boolean> {
  const reply = (await sentinel.command('SENTINEL', 'MASTER', name)) as readonly string[]
  const field = (key: string): string | undefined => reply[reply.indexOf(key) + 1]
  return (
    field('num-other-sentinels') === String(others) &&
    field('num-slaves') === '1' &&
    field('flags') === 'master'
  )
}
