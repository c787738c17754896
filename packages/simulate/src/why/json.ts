// The answer for programs. null stands for a wait that never ends, and for no limit.

import {
  type Answer,
  hintsOf,
  isNew,
  type Judged,
  refusingOf,
  unknownsOf,
  wouldPass,
} from './answer.js'
import type { LivePolicy } from './live.js'
import type { Finding } from './look.js'
import { dataOf } from './words.js'

export function jsonOf(answer: Answer): string {
  const { key, cost, limiters, live } = answer
  const hints = hintsOf(answer)
  return JSON.stringify(
    {
      ...{ key, cost },
      wouldPass: wouldPass(answer),
      limiters: limiters.map(limiterOf),
      ...(live !== undefined && {
        live: {
          name: live.name,
          version: live.version,
          processes: live.processes,
          notes: live.notes,
        },
      }),
      hint: hints.length > 0 ? hints.join('\n') : undefined,
      unknown: unknownsOf(answer),
    },
    null,
    2,
  )
}

function limiterOf(judged: Judged): object {
  const { name, areTogether, findings } = judged
  const [first] = refusingOf(judged)
  return {
    name,
    wouldPass: first === undefined,
    isNewKey: isNew(judged),
    retryAfterMs: first === undefined ? 0 : finite(first.retryAfterMs),
    isOneDecision: areTogether,
    policies: findings.map(policyOf),
  }
}

function policyOf(finding: Finding): object {
  const { name, use, passes, cost, used, limit, remaining, block, turns, live, inFile } = finding
  return {
    ...{ name, algorithm: use.policy.algorithm, passes, cost },
    ...(use.key !== undefined && { key: String(use.key) }),
    limit: finite(limit),
    used,
    remaining: finite(remaining),
    retryAfterMs: finite(finding.retryAfterMs),
    resetAfterMs: finding.resetAfterMs,
    ...(block !== undefined && { block: { level: block.level, isBlocked: block.isBlocked } }),
    ...(turns !== undefined && { turns }),
    policy: dataOf(use.policy),
    ...(live !== undefined && { live: liveOf(live) }),
    ...(inFile !== undefined && { inFile: dataOf(inFile) }),
  }
}

function liveOf({ named, why, prefix, version, atMs, otherwise }: LivePolicy): object {
  const isOverride = why === 'key' || why === 'prefix'
  const at = atMs === undefined ? undefined : new Date(atMs).toISOString()
  const without = isOverride && otherwise !== undefined ? dataOf(otherwise) : undefined
  return { named, why, prefix, version, at, without }
}

function finite(number: number): number | null {
  return number === Number.POSITIVE_INFINITY ? null : number
}
