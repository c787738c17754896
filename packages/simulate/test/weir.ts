// The command, as @weir/core runs it.

import { Readable } from 'node:stream'
import { type CommandIo, type CommandTools, command } from '../src/cli.js'
import { combined, START_US } from './log-lines.js'

const tools = {} as CommandTools

/** Two clients: one with 20 requests in two seconds, and one with two. */
export const LINES: readonly string[] = [
  ...Array.from({ length: 20 }, (_, i) =>
    combined({ timeUs: START_US + 1 + i * 100_000, ip: '192.0.2.1' }),
  ),
  ...[0, 1].map((i) => combined({ timeUs: START_US + 2_000_001 + i, ip: '192.0.2.2' })),
]

export async function weir(
  group: 'simulate' | 'suggest' | 'why',
  args: readonly string[],
  more: Partial<CommandIo> = {},
): Promise<{ code: number; out: string }> {
  const lines: string[] = []
  const io: CommandIo = {
    out: (line) => lines.push(line),
    progress: undefined,
    input: Readable.from([]),
    env: {},
    signal: new AbortController().signal,
    ...more,
  }
  const code = await command(group, args, io, tools)
  return { code, out: lines.join('\n') }
}

export const SHORT: readonly string[] = ['--limit', '5', '--window', '1s']
