// One store over two versions, for the conformance suite: either version gets each request.

import type { Policy, RedisStore } from '@weir/core'
import { kernelOf, numbersOf } from '@weir/core/internal'
import type { PolicySet, Settings, Store, StoreRequest, Target } from '@weir/core/store'
import { policyLike, type Version } from './version.js'

/**
 * @param stores those of the versions, on one Redis
 * @param choose selects the one that gets the next request
 */
export function storeOfBoth(
  versions: readonly [Version, Version],
  stores: readonly [RedisStore, RedisStore],
  choose: () => 0 | 1,
): Store {
  const translations = versions.map((version) => translatedFor(version))
  const translated = (target: Target, which: 0 | 1): Target => {
    return { ...target, policySet: translations[which]?.(target.policySet) as PolicySet }
  }
  return {
    reserves: true,
    recovers: true,
    settings: settingsOfBoth(stores, choose),
    decide(request) {
      const which = choose()
      const target = translated(request.target, which)
      return (stores[which] as RedisStore).decide({ ...request, target } as StoreRequest)
    },
    reset(target) {
      const which = choose()
      return (stores[which] as RedisStore).reset(translated(target, which))
    },
    async close() {
      for (const store of stores) await store.close()
    },
  }
}

/** A policy set in the form of a version, with that version's kernels. */
function translatedFor(version: Version): (policySet: PolicySet) => PolicySet {
  const known = new WeakMap<PolicySet, PolicySet>()
  const policyOf = (policy: Policy): Policy => {
    // These are not enumerable, so a copy would have none.
    const { nameWithoutLimit, options } = policy
    const numbers = numbersOf(policy)
    const kernel = kernelOf(policyLike(version, policy))
    return Object.freeze({ ...policy, kernel, numbers, nameWithoutLimit, options })
  }
  return (policySet) => {
    const own = known.get(policySet) ?? { ...policySet, policies: policySet.policies.map(policyOf) }
    known.set(policySet, own)
    return own
  }
}

function settingsOfBoth(stores: readonly RedisStore[], choose: () => 0 | 1): Settings {
  const either = (): Settings => stores[choose()]?.settings as Settings
  return {
    news: (...given) => either().news(...given),
    page: (...given) => either().page(...given),
    change: (...given) => either().change(...given),
    restore: (...given) => either().restore(...given),
    report: async (...given) => either().report?.(...given),
    reports: async (...given) => (await either().reports?.(...given)) ?? [],
  }
}
