// Limiters of both versions with the same setup write the same keys and give policies the same
// names, including those that users do not choose.

import type { PolicyInput, RateLimiterOptions, RedisStoreOptions } from '@weir/core'
import type { Bench, Found } from '../bench.js'
import { storeOf, type Version } from '../version.js'

interface Subject {
  readonly store?: RedisStoreOptions
  readonly limiter?: Pick<RateLimiterOptions, 'name' | 'reserve'>
  readonly key?: string | number | bigint
  readonly policy: (core: Version['core']) => PolicyInput
}

const BEATS = /:weir:beats:/

const window = '1m'
const ONE = ({ slidingWindow }: Version['core']) => slidingWindow({ limit: 5, window })

const UNNAMED: readonly Subject['policy'][] = [
  ONE,
  ({ slidingLog }) => slidingLog({ limit: 5, window }),
  ({ slidingCounter }) => slidingCounter({ limit: 5, window: 90_500 }),
  ({ fixedWindow }) => fixedWindow({ limit: 5, window }),
  ({ fixedWindow }) => fixedWindow({ limit: 5, window, aligned: true }),
  ({ fixedWindow }) => fixedWindow({ limit: 5, window: 'week', weekStart: 'sunday' }),
  ({ fixedWindow }) => fixedWindow({ limit: 5, window: 'month', timeZone: 'Europe/Berlin' }),
  ({ tokenBucket }) => tokenBucket({ capacity: 5, refill: 2.5, every: '1s' }),
  ({ leakyBucket }) => leakyBucket({ capacity: 1, leak: 10, every: '1s', maxWait: '30s' }),
  ({ gcra }) => gcra({ limit: 100, period: window, burst: 5 }),
  ({ slidingWindow, fixedWindow }) => [
    slidingWindow({ limit: 5, window }),
    fixedWindow({ limit: 50, window: '1d' }),
  ],
]

const KEYS = [
  ...['a', 'a:b@c/d', '{x}', '}{', 'é😀', '\ud800', ' ', '\n', '%', '#', '2001:db8::1'],
  ...['x'.repeat(128), 'x'.repeat(129), 'é'.repeat(65), 'x'.repeat(256), 'x'.repeat(257)],
  ...[42, 2n ** 70n],
]

const STORES: readonly RedisStoreOptions[] = [
  {},
  { hashTags: 16 },
  { hashKeys: 'a secret of two versions' },
  { hashTags: 2, hashKeys: 'a secret of two versions' },
]

const subjects: readonly Subject[] = [
  ...UNNAMED.flatMap((policy) => [
    { policy },
    { policy, limiter: { name: 'api' } },
    { policy, limiter: { name: 'api', reserve: { batch: 0.5 } } },
  ]),
  ...STORES.flatMap((store) => [
    ...KEYS.map((key) => ({ store, key, policy: ONE })),
    {
      store,
      policy: (core: Version['core']) => [
        core.slidingWindow({ name: 'own', limit: 5, window }),
        { policy: core.fixedWindow({ name: 'all', limit: 9, window }), key: 'all', tag: 'a' },
        { policy: core.slidingLog({ name: 'number', limit: 9, window }), key: 7, tag: 'a' },
      ],
      key: 'a',
    },
  ]),
]

export async function checkNames(bench: Bench): Promise<Found> {
  const client = await bench.newClient()
  const problems: string[] = []
  for (const subject of subjects) {
    const seen = await Promise.all(
      bench.versions.map(async (version) => {
        const prefix = bench.newPrefix()
        const store = storeOf(version, client, { ...subject.store, prefix })
        const policy = subject.policy(version.core)
        const limiter = new version.core.RateLimiter({ ...subject.limiter, store, policy })
        const decision = await limiter.consume(subject.key ?? 'k')
        // A process may have raised its number on a node.
        const written = (await client.keys(`${prefix}:*`)).filter((key) => !BEATS.test(key))
        const keys = written.map((key) => key.slice(prefix.length)).sort()
        await store.close()
        return JSON.stringify([...decision.policies.map((each) => each.policy.name), ...keys])
      }),
    )
    if (seen[0] !== seen[1]) problems.push(`was: ${seen[0]}\n  is: ${seen[1]}`)
  }
  return { did: `${subjects.length} limiters`, problems }
}
