// Policies under the names that the application may have given them, where a file names them
// otherwise and nothing is stored.

import { policyFrom, type RedisStore } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import { UNNAMED } from '../limiters.js'
import { type Finding, type Limiter, look, type Source } from './look.js'
import { dataOf } from './words.js'

/**
 * What is stored for a key under the names that Weir gives to policies: that of the limiter, as
 * middlewares name the policy of `limit` and `window`, and that of the algorithm and the window.
 * @throws {StoreError} if the store cannot answer
 */
export async function storedOtherwise(
  store: RedisStore,
  { name, sources }: Limiter,
  key: string,
): Promise<readonly Finding[]> {
  const others = sources.flatMap((source) => otherwiseNamed(source, { name, sources }))
  const byName = new Map(others.map((source) => [source.use.policy.name, source]))
  for (const { use } of sources) byName.delete(use.policy.name)
  const asked = { name, sources: [...byName.values()], areTogether: false }
  const found = await look(store, asked, key, 1)
  return found.filter(({ isStored }) => isStored)
}

function otherwiseNamed(
  { use, live }: Source,
  { name: limiter, sources }: Pick<Limiter, 'name' | 'sources'>,
): readonly Source[] {
  const { policy } = use
  // The names of live policies are those of the application.
  if (live !== undefined || kernelOf(policy) === undefined) return []
  const isOfMiddleware = policy.algorithm === 'sliding-window' && sources.length === 1
  const names = isOfMiddleware && limiter !== UNNAMED ? [limiter, undefined] : [undefined]
  return names.map((name) => ({
    use: { ...use, policy: policyFrom({ ...dataOf(policy), name }) },
    ...{ live: undefined, inFile: undefined },
  }))
}
