// Redis answers, and refuses. PING would say that all is well.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, otherServer, type RedisServer, waitUntil } from '@weir/testkit'
import { type Check, exactly } from '../checks.js'
import type { Job } from '../client/protocol.js'
import { type Fault, KEY, LIMIT, load, type Run, underFault } from '../outage.js'
import type { Row } from '../row.js'
import type { Stage, Wire } from '../stage.js'
import {
  connectedAnew,
  flapping,
  median,
  normalWithin,
  opened,
  over,
  sane,
  sentWhileOpen,
  slowest,
} from '../verdicts.js'

interface Refusal {
  readonly number: string
  readonly variant?: string
  readonly fault: string
  readonly args?: readonly string[]
  /** The newest server of this kind, instead of that of the other rows. */
  readonly newest?: 'valkey'
  readonly job?: Partial<Job>
  prepare?(server: RedisServer): Promise<unknown>
  provoke(server: RedisServer, stage: Stage): Fault
  judge?(wire: Wire, stage: Stage, run: Run): readonly Check[]
}

const config = (server: RedisServer, name: string, value: string): Promise<unknown> =>
  server.command('CONFIG', 'SET', name, value)

function switched(on: () => Promise<unknown>, off: () => Promise<unknown>): Fault {
  return {
    begin: async () => void (await on()),
    end: async () => void (await off()),
  }
}

const outOfMemory: Refusal = {
  number: '8',
  fault: 'OOM (noeviction), beside twice as many reads, which are answered',
  // Of all requests, fewer than half fail.
  job: { peeks: 2 },
  provoke: (server) =>
    switched(
      () => config(server, 'maxmemory', '1'),
      () => config(server, 'maxmemory', '0'),
    ),
}

const readOnly: Refusal = {
  number: '9',
  variant: 'READONLY',
  fault: 'READONLY: the primary became a replica',
  provoke: (server) => ({
    async begin() {
      await server.command('REPLICAOF', '127.0.0.1', await freePort())
    },
    end: async () => void (await server.command('REPLICAOF', 'NO', 'ONE')),
  }),
  judge: (wire, { changes }) => connectedAnew(wire, changes),
}

const noReplicas: Refusal = {
  number: '9',
  variant: 'NOREPLICAS',
  fault: 'NOREPLICAS: too few replicas to write',
  provoke: (server) =>
    switched(
      () => config(server, 'min-replicas-to-write', '1'),
      () => config(server, 'min-replicas-to-write', '0'),
    ),
}

const misconf: Refusal = {
  number: '9',
  variant: 'MISCONF',
  fault: 'MISCONF: snapshots fail, so writes are refused',
  provoke: (server) =>
    switched(
      async () => {
        const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as readonly string[]
        // A snapshot file cannot replace a folder.
        await mkdir(join(String(folder), 'dump.rdb'))
        await server.command('BGSAVE')
        await waitUntil('the snapshot to fail', async () => {
          return String(await server.command('INFO', 'persistence')).includes(
            'last_bgsave_status:err',
          )
        })
        await config(server, 'save', '3600 1')
      },
      () => config(server, 'save', ''),
    ),
}

const loading: Refusal = {
  number: '9',
  variant: 'LOADING',
  fault: 'LOADING: back after a restart, but still reading its data',
  args: ['--repl-diskless-sync-delay', '0'],
  provoke: (server, stage) => {
    let loaded: Promise<unknown> = Promise.resolve()
    return {
      async begin() {
        const args = await slowToLoad(server, stage)
        loaded = stage.redis({ port: server.port, args })
        // Otherwise a failure before the end of the fault would be an unhandled rejection.
        loaded.catch(() => {})
      },
      end: async () => void (await loaded),
    }
  },
}

/**
 * Saves some keys, ends the server, and returns arguments with which the next server takes 2 s to
 * load them.
 */
async function slowToLoad(server: RedisServer, stage: Stage): Promise<string[]> {
  const folder = await stage.folder()
  for (let i = 0; i < 2_000; i += 1) await server.command('SET', `filler-${i}`, 'x'.repeat(100))
  const other = await stage.redis({
    args: ['--dir', folder, '--replicaof', '127.0.0.1', String(server.port)],
  })
  await waitUntil('a copy of the data', async () => Number(await other.command('DBSIZE')) >= 2_000)
  await other.command('SAVE')
  server.kill()
  await sleep(50)
  return [
    '--dir',
    folder,
    '--key-load-delay',
    '1000',
    '--loading-process-events-interval-bytes',
    '1024',
  ]
}

const clusterDown: Refusal = {
  number: '9',
  variant: 'CLUSTERDOWN',
  fault: 'CLUSTERDOWN: some slot is not served',
  args: ['--cluster-enabled', 'yes'],
  async prepare(server) {
    await server.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
    await waitUntil('the cluster to be up', async () => {
      return String(await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok')
    })
  },
  provoke: (server) => {
    let slot = 0
    return switched(
      async () => {
        const own = await server.command('CLUSTER', 'KEYSLOT', `{${KEY}}`)
        slot = own === 0 ? 1 : 0
        await server.command('CLUSTER', 'DELSLOTS', slot)
      },
      () => server.command('CLUSTER', 'ADDSLOTS', slot),
    )
  },
}

const busy: Refusal = {
  number: '9',
  variant: 'BUSY',
  fault: 'BUSY: an endless script of somebody else',
  async prepare(server) {
    await config(server, 'lua-time-limit', '200')
  },
  provoke: (server, stage) => ({
    begin() {
      const endless = stage.connection(server.port)
      endless.command('EVAL', 'while true do end', 0).catch(() => {})
    },
    end: async () => void (await server.command('SCRIPT', 'KILL')),
  }),
}

/** Valkey with Lua built in loads it only when it starts. */
const noLua: Refusal = {
  number: '9b',
  fault: 'Valkey 9.1 without Lua, whose module was unloaded, until it is started again',
  args: ['--enable-module-command', 'yes'],
  newest: 'valkey',
  provoke: (server, stage) => ({
    begin: async () => void (await server.command('MODULE', 'UNLOAD', 'lua')),
    async end() {
      server.kill()
      await stage.redis({ port: server.port, binary: otherServer('valkey', 'newest') })
    },
  }),
  judge: (_, __, { reports }) => {
    const warned = reports.flatMap(({ warnings }) => warnings)
    return [exactly('WEIR_NO_SCRIPTS', warned.filter((text) => /NO_SCRIPTS/.test(text)).length, 1)]
  },
}

function rowOf({ args = [], newest, job, prepare, provoke, judge, ...row }: Refusal): Row {
  return {
    ...row,
    must:
      row.number === '8' ? 'local; the probe must not say healthy' : 'local; reconnect on READONLY',
    async run(stage, length) {
      const binary = newest && otherServer(newest, 'newest')
      const server = await stage.redis({ args, ...(binary !== undefined && { binary }) })
      await prepare?.(server)
      const wire = await stage.proxy(server.port)
      const jobs = [load(wire.port, job)]
      const run = await underFault(stage, length, jobs, provoke(server, stage), wire)
      return [
        flapping(run, 1),
        slowest(run, 150),
        median(run, 2),
        over(run, 2 * LIMIT),
        normalWithin(run, 1_500),
        ...(judge?.(wire, stage, run) ?? []),
        opened(run),
        sentWhileOpen(run, [KEY], stage.changes),
        ...sane(run),
      ]
    },
  }
}

export const refusals: readonly Row[] = [
  outOfMemory,
  readOnly,
  noReplicas,
  misconf,
  loading,
  clusterDown,
  busy,
  noLua,
].map(rowOf)
