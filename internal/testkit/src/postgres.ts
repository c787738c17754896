// A PostgreSQL server with its own port and data, which always ends with the process that started
// it.

import { execFile, spawn } from 'node:child_process'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { askFinder } from './binary.js'
import { type Guarded, startGuarded, type User } from './guarded.js'
import { freePort } from './ports.js'
import { waitUntil } from './wait.js'

export interface PostgresServer {
  readonly port: number
  /** The URL for clients, with the user and the database. */
  readonly url: string
  /** Kills the server, which then writes nothing more, as when its machine crashes. */
  kill(): Promise<void>
  /** Starts a killed server again, on the same port and data. */
  restart(): Promise<void>
  /** Ends the server at once and removes its data. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Settings that follow those of the kit: `['synchronous_commit=off']`. */
  readonly settings?: readonly string[]
}

interface Programs {
  readonly folder: string
  /** Another user, since PostgreSQL refuses to run as root. */
  readonly user?: User
}

/** The folder and port of a server, and how to start it. */
interface Place extends Programs {
  readonly data: string
  readonly settings: readonly string[]
}

const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  // The operating system keeps what a killed server wrote. Only a crash of the machine would lose
  // it.
  'fsync=off',
  'shared_buffers=32MB',
  // Inside the folder, so that a killed server leaves nothing elsewhere.
  'dynamic_shared_memory_type=mmap',
  'jit=off',
  'autovacuum=off',
]

// Keeps messages in English, whatever the language of the machine.
const ENV: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'C' }

let found: Programs | undefined

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  found ??= JSON.parse(askFinder('postgres')) as Programs
  const { folder: programs, user } = found
  const folder = await mkdtemp(join(tmpdir(), 'weir-postgres-'))
  if (user !== undefined) await chown(folder, user.uid, user.gid)
  const removed = removedAtEnd(folder, user)
  const place: Place = { ...found, data: join(folder, 'data'), settings: options.settings ?? [] }
  try {
    const args = ['--no-sync', '--auth=trust', '--username=weir', '--encoding=UTF8', '--locale=C']
    const at = { ...user, cwd: folder, env: ENV }
    await promisify(execFile)(join(programs, 'initdb'), [...args, '-D', place.data], at)
    const [port, server] = await onFreePort(place)
    return serverHandle(place, port, server, removed)
  } catch (error) {
    await removed()
    throw error
  }
}

/** Removes the folder when its server has ended for good, or when this process is killed. */
function removedAtEnd(folder: string, user: User | undefined): () => Promise<void> {
  const remove = 'cat >/dev/null; sleep 1; rm -rf "$0"'
  const child = spawn('sh', ['-c', remove, folder], {
    ...user,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  return async () => {
    await rm(folder, { recursive: true, force: true })
    child.kill('SIGKILL')
  }
}

/** Tries other ports if the server ends early: another process may have taken the first one. */
async function onFreePort(place: Place): Promise<[port: number, server: Guarded]> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const server = await started(place, port)
    if (!server.hasEnded()) return [port, server]
    if (attempt === 3) throw new Error(`PostgreSQL did not start:\n${server.log()}`)
  }
}

/** Resolves to a server that is ready for clients or has ended. */
async function started({ folder, user, data, settings }: Place, port: number): Promise<Guarded> {
  const all = [...SETTINGS, `port=${port}`, ...settings].flatMap((setting) => ['-c', setting])
  const at = { ...user, cwd: data, env: ENV }
  const server = startGuarded(join(folder, 'postgres'), ['-D', data, ...all], '', at)
  const pid = String(await server.pid)
  await waitUntil(`PostgreSQL on port ${port}`, async () => {
    if (server.hasEnded()) return true
    // The file names the process and its state, for PostgreSQL's own tools.
    const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n')
    return lines[0] === pid && lines[7]?.trim() === 'ready'
  })
  return server
}

function serverHandle(
  place: Place,
  port: number,
  first: Guarded,
  removed: () => Promise<void>,
): PostgresServer {
  let server = first
  return {
    port,
    url: `postgres://weir@127.0.0.1:${port}/postgres`,
    async kill() {
      server.kill('SIGKILL')
      await server.ended
    },
    async restart() {
      await server.ended
      // The other processes of the killed server end by themselves; until then it does not start.
      await waitUntil('PostgreSQL to be back', async () => {
        server = await started(place, port)
        if (server.hasEnded()) throw new Error(server.log())
        return true
      })
    },
    async stop() {
      // SIGQUIT ends the other processes as well, without writing anything.
      server.kill('SIGQUIT')
      await server.ended
      await removed()
    },
  }
}
