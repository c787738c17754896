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
  const abort = new AbortController()
  process.once('SIGINT', () => abort.abort())
  const { stdout, stderr } = process
  const line = stderr.isTTY ? (text: string) => stderr.write(`\r${text}\x1b[K`) : undefined
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
  }
  try {
    const code = await simulate.command(group, args, io, { openStore })
    return abort.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (!abort.signal.aborted) throw error
    return INTERRUPTED
  } finally {
    line?.('')
  }
}
