// What stands for a key in the names that it has in Redis. Long ones are hashes.

import { nameOfKey } from '../../../../packages/core/src/base/key-name.js'
import { encodePart, encodeTag } from '../../../../packages/core/src/redis/transport/keys.js'

export interface NamesInRedis {
  /** Between the braces. */
  readonly tag: string
  /** Elsewhere. */
  readonly part: string
}

export function namesInRedis(key: string): NamesInRedis {
  const name = nameOfKey(key)
  return { tag: encodeTag(name), part: encodePart(name) }
}
