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
  if (group === 'why') return why(args, io, tools)
  try {
    return await (group === 'simulate' ? simulateCommand(args, io) : suggestCommand(args, io))
  } catch (error) {
    throw asMisuse(error)
  }
}

/** What @weir/core refuses of a policies file, also in the middle of a log, is misuse. */
function asMisuse(error: unknown): unknown {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const isRefused = typeof code === 'string' && code.startsWith('WEIR_INVALID_')
  return isRefused ? Object.assign(error as Error, { exitCode: 2 }) : error
}
