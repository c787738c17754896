// The child process: requests one key endlessly, by a policy that changes in the meantime, and
// reports each request that passed.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { RateLimiter } from '../../../src/limiter/limiter.js'
import { livePolicies } from '../../../src/live/live-policies.js'
import type { LivePolicies } from '../../../src/live/types.js'
import { redisStore } from '../../../src/redis/store.js'
import type { Store } from '../../../src/store.js'
import { patientOptions } from '../../redis/patient.js'

export const DEFAULT: Policy = fixedWindow({ name: 'api', limit: 100, window: '1h' })

/** What a process reports: each request that passed, and each change that took effect. */
export interface Note {
  /** The counter and limit of the policy by which a request passed. */
  readonly passed?: string
  readonly version: number
  readonly limit: number
  /** How late the last change took effect, in ms. */
  readonly lateMs?: number
}

export function plansOf(store: Store): LivePolicies<'plan'> {
  return livePolicies(store, { name: 'plans', defaults: { plan: DEFAULT } })
}

export async function serve(
  Client: new (port: number, options: typeof patientOptions) => Redis,
  port: number,
): Promise<void> {
  const client = new Client(port, { ...patientOptions, retryStrategy: () => 50 })
  client.on('error', () => {})
  const store = redisStore(client, { instances: 4, deadlineMs: 10_000 })
  const plans = livePolicies(store, {
    name: 'plans',
    defaults: { plan: DEFAULT },
    onChange: ({ lateMs }) => tell({ lateMs }),
  })
  function tell(note: Partial<Note>): void {
    process.send?.({ version: plans.status().version, limit: plans.for('plan').limit, ...note })
  }
  const limiter = new RateLimiter({ name: 'fleet', store, policy: plans.policy('plan') })
  await plans.refresh()
  tell({})
  for (;;) {
    const { allowed, limit, policy } = await limiter.consume('k')
    if (allowed) tell({ passed: `${policy.timeScale} ${limit}` })
    await sleep(5)
  }
}
