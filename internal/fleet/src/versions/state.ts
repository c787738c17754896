// What a walk has left in Redis, without what distinguishes its worlds.

import type { Redis } from 'ioredis'

/** The values by the names of keys after their prefix. */
export async function stateUnder(client: Redis, prefix: string): Promise<Map<string, string>> {
  // A process has raised its number on a node if the walk took long enough.
  const keys = (await client.keys(`${prefix}:*`))
    .filter((key) => !key.includes(':weir:beats:'))
    .sort()
  const values = await Promise.all(keys.map((key) => textAt(client, key)))
  const texts = keys.map((key, i): [string, string] => [
    key.slice(prefix.length),
    withoutBase(values[i] as string),
  ])
  return new Map(texts.filter(([, text]) => text !== NO_MARK))
}

/** A mark with nothing but the base of restores, which only worlds with several processes have. */
const NO_MARK = '["string","0:0","ends"]'

function withoutBase(text: string): string {
  return text.replace(/^(\["string","\d+:\d+):\d+:\d+",/, '$1",')
}

async function textAt(client: Redis, key: string): Promise<string> {
  const [type, ttlMs] = await Promise.all([client.type(key), client.pttl(key)])
  const value = type === 'list' ? await client.lrange(key, 0, -1) : await client.get(key)
  // How long a key lives depends on when it was written, and on nothing that a decision sees.
  return JSON.stringify([type, value, ttlMs > 0 ? 'ends' : 'never ends'])
}

/** The first key that is not the same in all of them, and its value in each. */
export function differenceOf(
  states: readonly ReadonlyMap<string, string>[],
): { readonly key: string; readonly values: readonly string[] } | undefined {
  const keys = new Set(states.flatMap((state) => [...state.keys()]))
  for (const key of keys) {
    const values = states.map((state) => state.get(key) ?? 'nothing')
    if (new Set(values).size > 1) return { key, values }
  }
  return undefined
}
