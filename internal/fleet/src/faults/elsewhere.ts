// Runs a story in a separate process, since its fleets would delay the proxies of other rows.
import { fork } from 'node:child_process'
import { builtFrom } from '../places/places.js'
import type { Check } from './checks.js'
import type { Job, Stall } from './client/protocol.js'
import type { Stage } from './stage.js'

export interface ToTeller {
  /** The number of the story. */
  readonly number: string
  readonly changes: Partial<Job>
}

export interface Told {
  readonly checks: readonly Check[]
  readonly stalls: readonly Stall[]
}

const entry = builtFrom('faults/teller')

export async function tellElsewhere(stage: Stage, number: string): Promise<readonly Check[]> {
  const child = fork(entry, [], {
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => lines.push(String(chunk)))
  }
  let told: Told | undefined
  child.once('message', (message: Told) => {
    told = message
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  stage.onEnd(async () => {
    // The process has already ended, unless this run was given up.
    child.kill()
    await ended
  })
  const message: ToTeller = { number, changes: stage.changes }
  child.send(message)
  await ended
  if (told === undefined) throw new Error(`a story was not told to its end:\n${lines.join('')}`)
  stage.stalls.push(...told.stalls)
  return told.checks
}
