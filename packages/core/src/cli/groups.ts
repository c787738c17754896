// Groups of the command that @weir/simulate has, where the user's project has that.

import { typeError } from '../base/errors.js'
import { moduleOf } from './client.js'
import { misused } from './main.js'
import { openStore } from './open-store.js'

/** Which a project needs at its desk, and a server does not. */
export const GROUPS: readonly string[] = ['simulate', 'suggest', 'why']

const PACKAGE = '@weir/simulate'
/** What a shell says of a command that SIGINT has ended. */
const INTERRUPTED = 130
/** How long a group has to end by itself after an interrupt. */
const GRACE_MS = 1_000

interface Simulate {
  command(group: string, args: readonly string[], io: object, tools: object): Promise<number>
}

/**
 * @returns the exit code
 * @throws {TypeError} WEIR_INVALID_OPTION where the project does not have the package
 */
export async function runGroup(group: string, args: readonly string[]): Promise<number> {
  const simulate = (await moduleOf(`${PACKAGE}/cli`)) as Simulate | undefined
  if (simulate === undefined) {
    const what = `weir ${group} needs ${PACKAGE}, which this folder does not have`
    const problem = `${what}: npm install --save-dev ${PACKAGE}`
    throw misused(typeError('WEIR_INVALID_OPTION', problem))
  }
  const { stdout, stderr } = process
  const line = stderr.isTTY ? (text: string) => stderr.write(`\r${text}\x1b[K`) : undefined
  const abort = new AbortController()
  const interrupted = (): void => {
    line?.('')
    abort.abort()
    // A read of a terminal or a pipe to which nobody writes does not end: the second signal, which
    // nobody handles, ends the process.
    setTimeout(() => process.kill(process.pid, 'SIGINT'), GRACE_MS).unref()
  }
  process.once('SIGINT', interrupted)
  const io = {
    out(text: string) {
      line?.('')
      stdout.write(`${text}\n`)
    },
    progress: line,
    get input() {
      return process.stdin
    },
    env: process.env,
    signal: abort.signal,
    // Called before a long computation, during which no listener runs: without one, the signal
    // ends the process.
    blocking: () => void process.off('SIGINT', interrupted),
  }
  try {
    const running = simulate.command(group, args, io, { openStore })
    const code = await Promise.race([running, waitingInVain(group)])
    return abort.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!abort.signal.aborted) throw error
    return INTERRUPTED
  } finally {
    line?.('')
  }
}

/**
 * Rejects when nothing is left that could happen. Node.js would end with code 0, which says that
 * all is well.
 */
function waitingInVain(group: string): Promise<never> {
  return new Promise((_, reject) => {
    process.once('beforeExit', () => {
      const what = `weir ${group} waits for a promise that never settles`
      const code = 'WEIR_POLICIES_FAILED'
      reject(
        misused(Object.assign(new Error(`${what}; look for it in the policies file`), { code })),
      )
    })
  })
}
