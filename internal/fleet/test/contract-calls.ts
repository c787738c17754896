// The calls in the contract of a Connection. They use only Weir's scripts, which a simulated server
// also knows.

import type { CallMode } from '../../../packages/core/src/algorithms/modes.js'
import { fixedWindow, type Policy } from '../../../packages/core/src/index.js'
import { IGNORED, type LayerRequest } from '../../../packages/core/src/layer.js'
import type { Send } from '../../../packages/core/src/redis/connection.js'
import { HEARTBEAT } from '../../../packages/core/src/redis/heartbeat.js'
import {
  argumentsOf,
  JoinedEntry,
  OpenCall,
  prepareScript,
} from '../../../packages/core/src/redis/transport/call.js'
import { keyFormat } from '../../../packages/core/src/redis/transport/keys.js'
import { unpackNumbers } from '../../../packages/core/src/redis/transport/msgpack.js'
import { makePolicySet } from '../../../packages/core/src/request.js'

/** The time of each call, fixed so that no window ends while a test runs. */
export const NOW_US = Date.UTC(2026, 2, 1) * 1_000

type Given = Partial<Pick<LayerRequest, 'costs' | 'untilUs' | 'seenUs'>>

/** The script of a policy, and the arguments of calls with one request. */
export function scriptOf(prefix: string, policy: Policy) {
  const policySet = makePolicySet(prefix, [policy])
  const prepared = prepareScript(keyFormat(prefix), policySet)
  return {
    source: prepared.script.source,
    argumentsFor(mode: CallMode, key: string, given: Given = {}, nowUs: number = NOW_US): string[] {
      const request = { mode, target: { policySet, key }, costs: [1], count: 1, ...given }
      const entry = new JoinedEntry(request as LayerRequest, IGNORED)
      return argumentsOf(new OpenCall(prepared, 0, mode, nowUs, entry, undefined))
    },
  }
}

const LIMIT = 1_000
export const { source, argumentsFor } = scriptOf(
  'contract',
  fixedWindow({ name: 'p', limit: LIMIT, window: '1h' }),
)

/** Takes one unit of a key. Resolves to how many have been taken, including this one. */
export async function take(send: Send, key: string): Promise<number> {
  return usedIn(await send('evalsha', argumentsFor('consume', key)))
}

/** Refunds one unit of a key, which is a call for two keys: the counter and its mark. */
export function giveBack(send: Send, key: string): Promise<unknown> {
  return send('evalsha', argumentsFor('refund', key))
}

/** Resolves to how many units of a key have been taken. */
export async function taken(send: Send, key: string): Promise<number> {
  return usedIn(await send('evalsha', argumentsFor('peek', key)))
}

export function usedIn(reply: unknown): number {
  return LIMIT - (unpackNumbers(reply as Buffer)[2] as number)
}

/** Makes the node of a key load the script. */
export function teach(send: Send, key: string = 'lesson'): Promise<unknown> {
  return send('eval', [source, ...argumentsFor('peek', key).slice(1)])
}

export function beat(send: Send, id: string): Promise<unknown> {
  const keys = ['contract:{instances}', 'contract:{instances}:watched']
  return send('eval', [HEARTBEAT, '2', ...keys, id, '10000', ''])
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)
