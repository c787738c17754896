// Turns of a bucket, for stores that reserve them.

import { gcra } from '../../algorithms/bucket/policies.js'
import type { Algorithm } from '../../algorithms/policy.js'
import { makePolicySet } from '../../request.js'
import type { StoreResult } from '../../store.js'
import { type Case, same } from './bench.js'

const { algorithm } = gcra({ limit: 1, period: '1s' })

export const TURNS: readonly (Case & { readonly algorithm: Algorithm })[] = [
  {
    name: 'turns of a bucket are reserved in order, up to how long each would wait',
    algorithm,
    modes: ['consume', 'peek'],
    run: async ({ limiter, clock, store, run }) => {
      const policy = gcra({ name: 'line', limit: 10, period: '1s', burst: 2, maxWait: '1s' })
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const one = { mode: 'consume', target, costs: [1], count: 1, atLeast: 1 } as const
      const turnMs = async (maxWaitMs: number, cost = 1): Promise<number | undefined> => {
        const result = await store.decide({ ...one, costs: [cost], maxWaitMs })
        const turnUs = (result.untilUs[0] as number) - result.nowUs - policy.windowMs * 1_000
        return result.granted === 0 ? undefined : Math.max(0, turnUs / 1_000)
      }
      await limiter(policy).consume('k', { cost: 2 })
      same('nobody waits', await turnMs(0), undefined)
      same('first turn', await turnMs(100), 100)
      same('second turn', await turnMs(1_000), 200)
      same('not so long', await turnMs(299), undefined)
      same('two units', await turnMs(1_000, 2), 400)
      same('never', await turnMs(1_000, 3), undefined)
      same('not at once', (await limiter(policy).peek('k')).remaining, 0)
      clock.advance(400)
      same('after them', await turnMs(100), 100)
      for (let i = 0; i < 9; i += 1) await turnMs(1_000)
      same('up to the longest wait', await turnMs(10_000), undefined)
    },
  },
  {
    name: 'a turn is cancelled as far as no later one stands on it',
    algorithm,
    modes: ['consume', 'cancel'],
    run: async ({ store, run }) => {
      const policy = gcra({ limit: 10, period: '1s', burst: 1, maxWait: '1s' })
      const target = { policySet: makePolicySet(run, [policy]), key: 'k' }
      const one = { mode: 'consume', target, costs: [1], count: 1 } as const
      const results: StoreResult[] = []
      for (let i = 0; i < 4; i += 1)
        results.push(await store.decide({ ...one, atLeast: 1, maxWaitMs: 1_000 }))
      const cancel = async (place: number): Promise<number | undefined> => {
        const { untilUs, nowUs: seenUs } = results[place] as StoreResult
        const after = await store.decide({ ...one, mode: 'cancel', untilUs, seenUs })
        return after.policies[0]?.resetAfterMs
      }
      same('in the middle', await cancel(2), 400)
      same('the last', await cancel(3), 300)
      same('another that is last', await cancel(2), 200)
    },
  },
]
