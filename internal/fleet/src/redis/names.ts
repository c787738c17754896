// The names of a counter in Redis. Long keys are hashed.

import { nameOfKey } from '../../../../packages/core/src/base/key-name.js'
import { encodePart, encodeTag } from '../../../../packages/core/src/redis/transport/keys.js'

/** The forms of a key: between the braces, and elsewhere. */
export function namesInRedis(key: string): readonly [tag: string, part: string] {
  const name = nameOfKey(key)
  return [encodeTag(name), encodePart(name)]
}

/** Whether Redis uses a name for the counter of a policy and a key, or for its mark. */
export function isNameOf(key: string, policy: string): (name: string) => boolean {
  const [tag, part] = namesInRedis(key)
  const [braced, other, own] = [`{${tag}}`, `:${part}:`, `:${policy}:`]
  return (name) => (name.includes(braced) || name.includes(other)) && name.includes(own)
}
