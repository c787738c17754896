// What the command `weir` of @weir/core loads: the groups `simulate`, `suggest` and `why`.

import type { CommandIo, CommandTools } from './cli/command.js'
import { simulateCommand, suggestCommand } from './cli/commands.js'
import { why } from './why/why.js'

export type { CommandIo, CommandTools, OpenStore } from './cli/command.js'

/**
 * Runs a command.
 * @returns the exit code
 * @throws {SimulateError} with `exitCode: 2` if the command is misused
 */
export async function command(
  group: 'simulate' | 'suggest' | 'why',
  args: readonly string[],
  io: CommandIo,
  tools: CommandTools,
): Promise<number> {
  if (group === 'simulate') return simulateCommand(args, io)
  if (group === 'suggest') return suggestCommand(args, io)
  return why(args, io, tools)
}
