#!/usr/bin/env node
import { GROUPS, runGroup } from './groups.js'
import { type CommandError, weir } from './main.js'

async function run(args: readonly string[]): Promise<number> {
  const [group = '', ...others] = args
  if (GROUPS.includes(group)) return runGroup(group, others)
  const lines = await weir(args)
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

// Whoever reads has read enough, as `head` has: the command ends as it would have.
process.stdout.on('error', (error: CommandError) => {
  if (error.code === 'EPIPE') return
  console.error(`the output cannot be written: ${error.message}`)
  process.exit(1)
})

/** Ends the process when all is written, whatever a policies file left open: a timer, a client. */
function end(code: number): void {
  // A write that fails calls back before its error event.
  process.stdout.write('', () => setImmediate(() => process.exit(code)))
}

run(process.argv.slice(2)).then(end, (error: CommandError) => {
  console.error(error.code === undefined ? error : `${error.code}: ${error.message}`)
  end(error.exitCode ?? 1)
})
