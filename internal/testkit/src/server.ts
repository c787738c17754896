// One redis-server: started on a port of its own, and sure to end with the process that started it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { serverBinary } from './binary.js'
import { freePort } from './ports.js'
import { type Connection, openConnection, type Reply } from './resp.js'
import { waitUntil } from './wait.js'

export interface RedisServer {
  readonly host: '127.0.0.1'
  readonly port: number
  readonly url: string
  readonly pid: number
  /** Sends one command over a plain socket. An error reply rejects. */
  command(...args: readonly (string | number)[]): Promise<Reply>
  /** Sends a signal, SIGKILL unless told otherwise. SIGSTOP and SIGCONT make it hang and go on. */
  kill(signal?: NodeJS.Signals): void
  /** Ends the server at once and removes its folder. */
  stop(): Promise<void>
}

export interface ServerOptions {
  /** Arguments after the port, the folder and the switched-off persistence. */
  readonly args?: readonly string[]
  /** A fixed port, for a server that returns where another one was. */
  readonly port?: number
}

/** What a server needs before its arguments: a config file, say, written into its own folder. */
export type Arguments = (folder: string, port: number) => Promise<readonly string[]>

export function startRedis(options: ServerOptions = {}): Promise<RedisServer> {
  const { args = [], port } = options
  return startServer(async (folder, p) => redisArguments(folder, p, args), port)
}

/** On a port and in a folder of its own, without persistence. */
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

/**
 * Tries other ports when the server ends early: another process may have taken the first one
 * meanwhile.
 */
export async function startServer(args: Arguments, fixedPort?: number): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort())
    const folder = await mkdtemp(join(tmpdir(), 'weir-redis-'))
    const started = await tryStart(folder, port, await args(folder, port))
    if (!('log' in started)) return started
    if (attempt === 3) throw new Error(`${serverBinary()} did not start:\n${started.log}`)
  }
}

// The shell outlives neither side: it ends with the server, and when the pipe on its standard input
// closes, which the operating system does even for a killed test runner, it ends the server.
export const guard = `
  folder=$1; shift
  exec 3<&0
  "$0" "$@" 3<&- & server=$!
  echo $server
  exec >/dev/null 2>&1
  (cat <&3 >/dev/null; kill -9 $server) & watcher=$!
  wait $server
  kill $watcher 2>/dev/null
  rm -rf "$folder"`

async function tryStart(
  folder: string,
  port: number,
  args: readonly string[],
): Promise<RedisServer | { readonly log: string }> {
  // In a group of its own, out of reach of a Ctrl-C that would end it before the tests are through
  // with it.
  const command = ['-c', guard, serverBinary(), folder, ...args]
  const child = spawn('sh', command, { stdio: 'pipe', detached: true })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const log: string[] = []
  createInterface(child.stderr).on('line', (line) => log.push(line))
  const lines = createInterface(child.stdout)
  // The server may write its first line before the shell does.
  const pid = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      if (/^\d+$/.test(line)) resolve(Number(line))
    })
  })
  lines.on('line', (line) => {
    log.push(line)
    if (log.length > 50) log.shift()
  })

  const up = await Promise.race([answers(port, child), exited])
  if (up !== true) return { log: log.join('\n') }
  return serverHandle(port, await pid, child, exited)
}

/** True once the server answers, false when it ended before that. */
async function answers(port: number, child: ChildProcess): Promise<boolean> {
  await waitUntil(`a server on port ${port}`, async () => {
    if (child.exitCode !== null) return true
    const connection = openConnection(port)
    try {
      return (await connection.command('PING')) === 'PONG'
    } finally {
      connection.close()
    }
  })
  return child.exitCode === null
}

function serverHandle(
  port: number,
  pid: number,
  child: ChildProcess,
  exited: Promise<void>,
): RedisServer {
  let connection: Connection | undefined
  const kill = (signal: NodeJS.Signals = 'SIGKILL'): void => {
    if (child.exitCode !== null) return
    try {
      process.kill(pid, signal)
    } catch (error) {
      // Gone already, and the shell that watches it just about to be.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  return {
    host: '127.0.0.1',
    port,
    url: `redis://127.0.0.1:${port}`,
    pid,
    command(...args) {
      if (!connection || connection.isClosed()) connection = openConnection(port)
      return connection.command(...args)
    },
    kill,
    async stop() {
      connection?.close()
      kill()
      await exited
    },
  }
}
