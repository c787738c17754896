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
  if (error.code !== 'EPIPE') throw error
})

run(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: CommandError) => {
    console.error(error.code === undefined ? error : `${error.code}: ${error.message}`)
    process.exitCode = error.exitCode ?? 1
  },
)
