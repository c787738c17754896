// Where a client of GLIDE connects, as far as its options say. Equal texts are one place.

import { memoized } from '../../../base/cache.js'
import { type GlideLike, optionsOf } from './client.js'

let strangers = 0
/** The name of a client that does not say where it connects. */
const strangerOf = memoized((_: GlideLike) => {
  strangers += 1
  return `glide #${strangers}`
})

/** Addresses, database, and the prefix that other libraries have. */
export function placeOfClient(client: GlideLike): readonly string[] {
  const { addresses } = optionsOf(client)
  const nodes = addresses?.map(({ host, port = 6379 }) => `${host}:${port}`).sort()
  return [nodes?.join() ?? strangerOf(client), String(databaseOf(client)), '']
}

export function databaseOf(client: GlideLike): number {
  return optionsOf(client).databaseId ?? 0
}
