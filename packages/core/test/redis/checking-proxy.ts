// A proxy that reads scripts before they run, like that of Alibaba Cloud: it refuses a script in
// which the key of a command is anything but KEYS and a number.

import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { RedisLike } from '../../src/entries/store.js'

/** Commands without a key. */
const KEYLESS = ['TIME']

/** Why such a proxy refuses a script; undefined if it does not. */
export function refusalOf(source: string): string | undefined {
  const calls = [
    ...source.matchAll(/(\w+\.)?\b(p?call)\b(\('(\w+)'(?:, (KEYS\[\d+\])(?=[,)]))?)?/g),
  ]
  for (const [text, of, , given, command = '', key] of calls) {
    if (of !== 'redis.' || given === undefined) return text
    if (key === undefined && !KEYLESS.includes(command)) return text
  }
  const keys = source.match(/\bKEYS\b/g)?.length ?? 0
  return keys === calls.filter(([, , , , , key]) => key !== undefined).length ? undefined : 'KEYS'
}

const REFUSAL =
  'ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array'

export interface CheckingProxy {
  readonly client: RedisLike
  /** The scripts that it has refused, and those that it has let through. */
  readonly refused: string[]
  readonly passed: Set<string>
}

/** Sends a client's calls through such a proxy, which knows no other scripts of the server. */
export function checkingProxy(client: Redis): CheckingProxy {
  const refused: string[] = []
  const passed = new Set<string>()
  const known = new Set<string>()
  async function callBuffer(command: string, args: string[]): Promise<unknown> {
    const [script = ''] = args
    if (command === 'evalsha' && !known.has(script))
      throw new Error('NOSCRIPT No matching script. Please use EVAL.')
    if (command !== 'eval') return client.callBuffer(command, args)
    if (refusalOf(script) !== undefined) {
      refused.push(script)
      throw new Error(REFUSAL)
    }
    passed.add(script)
    known.add(createHash('sha1').update(script).digest('hex'))
    return client.callBuffer(command, args)
  }
  return { client: { callBuffer }, refused, passed }
}
