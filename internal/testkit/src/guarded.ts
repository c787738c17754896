// A server in a separate process, which always ends with the process that started it.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

// The shell outlives neither side. It ends with the server. When the pipe on its standard input
// closes, which the operating system does even for a killed test runner, it ends the server.
const GUARD = `
  folder=$1; shift
  exec 3<&0
  "$0" "$@" 3<&- & server=$!
  echo $server
  exec >/dev/null 2>&1
  (cat <&3 >/dev/null; kill -9 $server) & watcher=$!
  wait $server
  kill $watcher 2>/dev/null
  rm -rf "$folder"`

const LOG_LINES = 50

/** The user that a process runs as. */
export interface User {
  readonly uid: number
  readonly gid: number
}

export interface Guarded {
  /** The pid of the server itself. */
  readonly pid: Promise<number>
  /** Resolves when the server has ended. */
  readonly ended: Promise<void>
  hasEnded(): boolean
  /** The last lines that the server wrote. */
  log(): string
  /** Sends a signal at once, if the pid is known and the server has not ended. */
  kill(signal: NodeJS.Signals): void
  /** Ends the server at once. */
  stop(): Promise<void>
}

/**
 * Starts a program.
 * @param folder is removed when the program has ended; '' if there is none
 */
export function startGuarded(
  program: string,
  args: readonly string[],
  folder: string,
  options: Partial<User> & { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Guarded {
  // In its own process group, so that a Ctrl-C does not end the server before the tests are
  // finished with it.
  const child = spawn('sh', ['-c', GUARD, program, folder, ...args], {
    ...options,
    stdio: 'pipe',
    detached: true,
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const log: string[] = []
  const [lines, errors] = [createInterface(child.stdout), createInterface(child.stderr)]
  for (const each of [lines, errors]) {
    each.on('line', (line) => {
      log.push(line)
      if (log.length > LOG_LINES) log.shift()
    })
  }
  let known: number | undefined
  // The server may write its first line before the shell does.
  const pid = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      if (known !== undefined || !/^\d+$/.test(line)) return
      known = Number(line)
      resolve(known)
    })
  })
  const hasEnded = (): boolean => child.exitCode !== null
  return {
    pid,
    ended,
    hasEnded,
    log: () => log.join('\n'),
    kill(signal) {
      if (known === undefined || hasEnded()) return
      try {
        process.kill(known, signal)
      } catch (error) {
        // The server has already ended, and the shell that watches it is about to.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    },
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
