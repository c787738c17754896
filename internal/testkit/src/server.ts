// A redis-server with its own port, which always ends with the process that started it.
import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverBinary } from './binary.js'
import { type Guarded, startGuarded } from './guarded.js'
import { freePort } from './ports.js'
import { type Connection, openConnection, type Reply } from './resp.js'
import { waitUntil } from './wait.js'

export interface RedisServer {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Sends one command over a plain socket. Rejects if the reply is an error. */
  command(...args: readonly (string | number)[]): Promise<Reply>
  /** Sends a signal, by default SIGKILL. SIGSTOP makes the server hang, and SIGCONT resumes it. */
  kill(signal?: NodeJS.Signals): void
  /** Ends the server at once and removes its folder. */
  stop(): Promise<void>
}

export interface ServerOptions {
  /** Arguments that follow the port, the folder and the switched-off persistence. */
  readonly args?: readonly string[]
  /** A fixed port, for a server that replaces another one. */
  readonly port?: number
  /** Another server than that of the other tests. */
  readonly binary?: string
}

/** Prepares a server and returns its arguments, for instance after writing a file into its
 *  folder. */
export type Arguments = (folder: string, port: number) => Promise<readonly string[]>

export function startRedis(options: ServerOptions = {}): Promise<RedisServer> {
  const { args = [], port, binary } = options
  return startServer(async (folder, p) => redisArguments(folder, p, args), port, binary)
}

/** Arguments for this port and folder, without persistence. */
export function redisArguments(
  folder: string,
  port: number,
  args: readonly string[],
): readonly string[] {
  return [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    ...['--save', '', '--appendonly', 'no', '--daemonize', 'no', ...args],
  ]
}

/** A folder in memory, on Linux. */
const MEMORY = '/dev/shm'
/** Enough for the append-only files and snapshots of all servers in a run. */
const MEMORY_BYTES = 2 ** 30

/**
 * Creates a folder in memory, if there is enough of it. A node of a Cluster, and a Sentinel, writes
 * its configuration to the disk and waits for it in the loop that answers clients. While other
 * packages' tests run, the disk may take seconds, during which no node of a Cluster answers.
 */
async function newFolder(): Promise<string> {
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return mkdtemp(join(free >= MEMORY_BYTES ? MEMORY : tmpdir(), 'weir-redis-'))
}

/**
 * Starts a server. Tries other ports if it ends early, since another process may have taken the
 * first one.
 */
export async function startServer(
  args: Arguments,
  fixedPort?: number,
  binary: string = serverBinary(),
): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort())
    const folder = await newFolder()
    const started = await tryStart(binary, folder, port, await args(folder, port))
    if (!('log' in started)) return started
    if (attempt === 3) throw new Error(`${binary} did not start:\n${started.log}`)
  }
}

async function tryStart(
  binary: string,
  folder: string,
  port: number,
  args: readonly string[],
): Promise<RedisServer | { readonly log: string }> {
  const server = startGuarded(binary, args, folder)
  const up = await Promise.race([answers(port, server), server.ended])
  if (up !== true) return { log: server.log() }
  return serverHandle(port, await server.pid, server)
}

/** Resolves to true when the server answers, and to false if it ends before that. */
async function answers(port: number, server: Guarded): Promise<boolean> {
  await waitUntil(`a server on port ${port}`, async () => {
    if (server.hasEnded()) return true
    const connection = openConnection(port)
    try {
      return (await connection.command('PING')) === 'PONG'
    } finally {
      connection.close()
    }
  })
  return !server.hasEnded()
}

function serverHandle(port: number, pid: number, server: Guarded): RedisServer {
  let connection: Connection | undefined
  return {
    host: '127.0.0.1',
    port,
    url: `redis://127.0.0.1:${port}`,
    pid,
    command(...args) {
      if (!connection || connection.isClosed()) connection = openConnection(port)
      return connection.command(...args)
    },
    kill(signal = 'SIGKILL') {
      server.kill(signal)
    },
    async stop() {
      connection?.close()
      await server.stop()
    },
  }
}
