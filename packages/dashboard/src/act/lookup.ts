// What holds for one key. Asks the limiter with `peek`, which takes nothing and writes nothing.

import type { Decision } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import type { PolicyResult } from '@weir/core/store'
import type { Collector } from '../collect/collector.js'
import { finite } from '../collect/limiter-frame.js'
import type { Lookup } from '../protocol.js'
import type { ShownLimiter, ShownLive } from '../watched.js'
import { fieldsOf } from './fields.js'
import { keyOf, limiterOf } from './find.js'
import { plain } from './problem.js'

/** @throws {Refused}, and rejects with what `peek` rejects with */
export async function lookup(collector: Collector, body: unknown): Promise<Lookup> {
  const fields = fieldsOf(body)
  const id = fields.name('limiter')
  const limiter = limiterOf(collector, id)
  const key = keyOf(collector, limiter, fields)
  const shown = collector.show(key)
  const decision = await peeked(limiter, key)
  if (!('allowed' in decision)) {
    const { unknown } = decision
    return {
      limiter: id,
      key: shown,
      allowed: null,
      why: undefined,
      retryAfterMs: 0,
      policies: [],
      unknown,
    }
  }
  const live = [...collector.all().live.values()]
  await Promise.all(live.map((each) => collector.live.loaded(each)))
  const namesOf = (each: ShownLive): readonly string[] => collector.live.namesOf(each)
  const { allowed, policies } = decision
  return {
    limiter: id,
    key: shown,
    allowed,
    why: whyOf(decision),
    retryAfterMs: decision.allowed ? 0 : orNever(decision.retryAfterMs),
    policies: limiter.enabled
      ? policies.map((each) => ({ ...policyOf(each), from: originOf(each, key, live, namesOf) }))
      : [],
    unknown: unknownOf(limiter, decision),
  }
}

/** The decision, or the reason why there is none. */
async function peeked(
  limiter: ShownLimiter,
  key: string,
): Promise<Decision | { readonly unknown: readonly string[] }> {
  try {
    return await limiter.peek(key)
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    if (code !== 'WEIR_INVALID_POLICY' && code !== 'WEIR_POLICY_FAILED') throw error
    const why = 'the policies depend on the request, so a key alone does not tell what holds'
    return { unknown: [code === 'WEIR_INVALID_POLICY' ? why : plain(String(message))] }
  }
}

type PolicyOf = Lookup['policies'][number]

function policyOf(result: PolicyResult): Omit<PolicyOf, 'from'> {
  const { policy, limit, remaining, retryAfterMs, resetAfterMs, block } = result
  return {
    policy: policy.name,
    algorithm: policy.algorithm,
    limit: finite(limit) ?? null,
    remaining: finite(remaining) ?? null,
    windowMs: kernelOf(policy)?.traits.hasWindow ? finite(policy.windowMs) : undefined,
    retryAfterMs: orNever(retryAfterMs),
    resetAfterMs: finite(resetAfterMs) ?? 0,
    block: block && { level: block.level, blocked: block.isBlocked },
  }
}

function orNever(ms: number): number | null {
  return finite(ms) ?? null
}

/** Where a policy comes from: the live policy of that name that holds for the key, or the code. */
function originOf(
  { policy }: PolicyResult,
  key: string,
  all: readonly ShownLive[],
  namesOf: (live: ShownLive) => readonly string[],
): PolicyOf['from'] {
  for (const live of all) {
    for (const name of namesOf(live)) {
      const ofKey = holding(live, name, key)
      if (ofKey?.signature !== policy.signature) continue
      if (ofKey.signature === holding(live, name)?.signature) return 'live'
      const some = live.overrides().filter((each) => each.policy.signature === policy.signature)
      const isOwn = some.some((each) => each.kind === 'key' && each.key === key)
      const isPrefix = some.some((each) => each.kind === 'prefix' && key.startsWith(each.key))
      return isOwn || !isPrefix ? 'key' : 'prefix'
    }
  }
  return 'code'
}

function holding(live: ShownLive, name: string, key?: string): PolicyResult['policy'] | undefined {
  try {
    return live.for(name, key)
  } catch {
    return undefined
  }
}

function whyOf(decision: Decision): string | undefined {
  if (decision.allowed) return undefined
  const { reason, policy, limit, remaining, policies } = decision
  switch (reason) {
    case 'blocked': {
      const level = policies.find((each) => each.policy === policy)?.block?.level
      return `${policy.name} blocks the key${level ? `, at level ${level}` : ''}.`
    }
    case 'cost-exceeds-limit':
      return `${policy.name} has a limit of ${limit}, so no request can ever pass.`
    case 'store-unavailable':
      return 'The store cannot be asked, and whenUnavailable says to refuse.'
    case 'policy-failed':
      return 'The policy function failed, and whenPolicyFails says to refuse.'
    default:
      return `${policy.name} has ${remaining} of ${limit} left, and a request takes 1.`
  }
}

function unknownOf(limiter: ShownLimiter, { degraded, source }: Decision): readonly string[] {
  if (!limiter.enabled)
    return ['The limiter is switched off, so everything passes, and nothing is counted.']
  const unknown = limiter.stats().shadow
    ? ['The limiter is in shadow mode: what it refuses passes all the same.']
    : []
  unknown.push('This is the answer to a request that costs 1; others may cost more.')
  if (degraded)
    unknown.push('The store does not answer, so it was not asked: this is what the process knows.')
  if (source === 'lease')
    unknown.push('This process holds a lease; what other processes hold is not known here.')
  return unknown
}
