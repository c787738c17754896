// Live policies that processes of both versions change: all of them see the same policies and the
// same history.

import type { Policy, RedisStore } from '@weir/core'
import type { LivePolicies } from '@weir/core/live'
import { waitUntil } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import type { Bench, Found } from '../bench.js'
import { storeOf, type Version } from '../version.js'

const CHANGES = 24
const KEYS = ['a', 'b', 'org-7:x', 'org-7:y', 'é😀']
const PREFIXES = ['org-7:', 'a']

interface Process {
  readonly name: string
  readonly core: Version['core']
  readonly store: RedisStore
  readonly live: LivePolicies<'free' | 'pro'>
}

export async function checkLive(bench: Bench, seed: number): Promise<Found> {
  const client = await bench.newClient()
  const prefix = bench.newPrefix()
  const processes = [...bench.versions, ...bench.versions].map((version): Process => {
    const { core, name } = version
    const store = storeOf(version, client, { prefix })
    const defaults = { free: limited(core, 10), pro: limited(core, 100) }
    return { name, core, store, live: core.livePolicies(store, { name: 'plans', defaults }) }
  })
  const random = randomOf(seed)
  const problems: string[] = []
  let version = 0
  try {
    for (const { live } of processes) await live.refresh()
    for (let i = 0; i < CHANGES; i += 1) {
      const { name, live, core } = random.pick(processes)
      const policy = limited(core, random.whole(1, 1_000))
      const change = random.pick<[string, () => Promise<unknown>]>([
        ['set', () => live.set(random.pick(['free', 'pro']), policy)],
        ['unset', () => live.unset(random.pick(['free', 'pro']))],
        ['override', () => live.override(random.pick(KEYS), policy)],
        ['override', () => live.override({ prefix: random.pick(PREFIXES) }, policy)],
        ['remove', () => live.remove(random.pick(KEYS))],
        ['rollback', () => live.rollback(random.whole(0, version))],
      ])
      const [what, make] = change
      try {
        await make()
      } catch (error) {
        problems.push(`${what} of ${name}: ${(error as Error).message}`)
      }
      const [last] = await (processes[0] as Process).live.history()
      version = last?.version ?? 0
    }
    problems.push(...(await differences(processes, version)))
  } finally {
    for (const { live, store } of processes) {
      live.close()
      await store.close()
    }
  }
  return { did: `${CHANGES} changes up to version ${version}, in 4 processes`, problems }
}

function limited({ slidingWindow }: Version['core'], limit: number): Policy {
  return slidingWindow({ name: 'calls', limit, window: '1m' })
}

/** What not all processes see, after all changes have taken effect. */
async function differences(processes: readonly Process[], version: number): Promise<string[]> {
  try {
    await waitUntil('the last change to hold in all processes', () =>
      Promise.resolve(
        processes.every(({ live }) => {
          const status = live.status()
          return status.version === version && status.pending === 0
        }),
      ),
    )
  } catch (error) {
    const seen = processes.map(({ name, live }) => `${name}: ${JSON.stringify(live.status())}`)
    return [`${(error as Error).message}; ${seen.join('; ')}`]
  }
  const seen = await Promise.all(
    processes.map(async ({ live }) => ({
      policies: ['free', 'pro'].flatMap((name) =>
        KEYS.map((key) => live.for(name as 'free', key).signature),
      ),
      overrides: live
        .overrides()
        .map(({ kind, key, policy }) => [kind, key, policy.limit])
        .sort(),
      history: (await live.history()).map((each) => [each.version, each.kind, each.policy?.limit]),
    })),
  )
  const [first, ...others] = seen.map((each) => JSON.stringify(each))
  return others.flatMap((other, i) =>
    other === first ? [] : [`${processes[i + 1]?.name} sees ${other}\n  and the first ${first}`],
  )
}
