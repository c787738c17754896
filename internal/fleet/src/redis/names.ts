// The form of keys in their Redis names. Long ones are hashed.

import { nameOfKey } from '../../../../packages/core/src/base/key-name.js'
import { encodePart, encodeTag } from '../../../../packages/core/src/redis/transport/keys.js'

export interface NamesInRedis {
  /** The form between the braces. */
  readonly tag: string
  /** The form elsewhere. */
  readonly part: string
}

export function namesInRedis(key: string): NamesInRedis {
  const name = nameOfKey(key)
  return { tag: encodeTag(name), part: encodePart(name) }
}
