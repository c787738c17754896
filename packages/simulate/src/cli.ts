// What the command `weir` of @weir/core loads: the groups `simulate`, `suggest` and `why`.

import type { CommandIo, CommandTools } from './cli/command.js'
import { simulateCommand, suggestCommand } from './cli/commands.js'
import { misuse } from './errors.js'

export type { CommandIo, CommandTools, OpenStore } from './cli/command.js'

/**
 * Runs a command.
 * @returns the exit code
 * @throws {SimulateError} with `exitCode: 2` where the command is misused
 */
export async function command(
  group: 'simulate' | 'suggest' | 'why',
  args: readonly string[],
  io: CommandIo,
  _tools: CommandTools,
): Promise<number> {
  if (group === 'simulate') return simulateCommand(args, io)
  if (group === 'suggest') return suggestCommand(args, io)
  // Here goes: if (group === 'why') return why(args, io, tools)
  throw misuse('command', group, 'simulate or suggest')
}
