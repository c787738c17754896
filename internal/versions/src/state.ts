// What a walk has left in Redis, without what distinguishes its worlds.

import type { Redis } from 'ioredis'

/** The values by the names of keys after their prefix. */
export async function stateUnder(client: Redis, prefix: string): Promise<Map<string, string>> {
  const keys = (await client.keys(`${prefix}:*`)).sort()
  const values = await Promise.all(keys.map((key) => textAt(client, key)))
  return new Map(keys.map((key, i) => [key.slice(prefix.length), values[i] as string]))
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
