// What a limiter has counted, for monitoring: plain values, made when they are asked for.

import type { HistogramStats } from '../base/histogram.js'
import {
  type AdaptiveState,
  BLOCKS,
  CLASS_OUTCOMES,
  DENIALS,
  DENIED_UNITS,
  LEVELS,
  NEAR_LIMIT,
  OTHERS,
  PENALTY,
  type PolicyCounters,
  REASONS,
  REFUNDED,
  ROWS,
  type Row,
  SLOTS_EXPIRED,
  SLOTS_HELD,
  TAKEN,
} from './counters.js'
import type { Denied } from './decision.js'
import type { LimiterParts } from './parts.js'

/**
 * What a limiter has counted since it was made, in this process (`limiter.stats()`): decisions, by
 * class and by policy, HTTP requests on which none was made, and waits. Its types explain each
 * number.
 */
export interface LimiterStats {
  /** The limiter's name. */
  readonly limiter: string
  /** False: it is switched off. */
  readonly enabled: boolean
  /** True: its denials are not enforced. */
  readonly shadow: boolean
  /** Decisions of `consume`, `decide`, `wait` and `consumeUpTo`, each counted once. */
  readonly decisions: readonly DecisionStats[]
  /** The same by class, for those that have one. Empty without `reserve`. */
  readonly priorities: readonly PriorityStats[]
  /** For each policy, at most 200; all others together, as `_other`. */
  readonly policies: readonly PolicyStats[]
  /** HTTP requests on which no decision was made, by reason. */
  readonly undecided: UndecidedStats
  /** Calls that wait for their turn now. */
  readonly waiting: number
  /** How long each decided `wait` took, denied or not. */
  readonly waits: HistogramStats
}

/** HTTP requests on which no decision was made. */
export interface UndecidedStats {
  /** `skip` said so. */
  readonly skip: number
  /** Their addresses are on the list `allow`. */
  readonly allowList: number
  /** Refused: their addresses are on the list `deny`. */
  readonly denyList: number
  /** They were preflights of CORS. */
  readonly preflight: number
  /** They had no usable key, and `onMissingKey` let them pass or refused them; or their key was too
   *  long, and they were refused. */
  readonly noKey: number
}

/** Decisions that have all of this in common. */
export interface DecisionStats {
  /** `shadow_denied`: it would have been denied. `error`: the promise was rejected, as neither the
   *  store nor a policy function could say. */
  readonly outcome: 'allowed' | 'denied' | 'shadow_denied' | 'error'
  /** What decided, as in `source` of the decision:
   *  - `store`: the store
   *  - `cache`: the deny cache, from the store's last answer
   *  - `lease`: a lease
   *  - `local`: this process, as the store could not be asked, or as the policy function failed
   *  - `none`: nothing, as the limiter is switched off, the policy is `unlimited()`, or there was
   *    an error */
  readonly source: 'store' | 'cache' | 'lease' | 'local' | 'none'
  /** As in the decision; true for errors. */
  readonly degraded: boolean
  /** How many. */
  readonly count: number
}

/** Decisions of one class and outcome. */
export interface PriorityStats {
  /** The class: one of `reserve`, or `critical`. */
  readonly priority: string
  /** As in `decisions`. */
  readonly outcome: DecisionStats['outcome']
  /** How many. Decisions of a limiter that is switched off have no class. */
  readonly count: number
}

/** What was counted of a policy. */
export interface PolicyStats {
  /** Its name; `_other` for those beyond 200. */
  readonly policy: string
  /** Which algorithm decides. `undefined` for `_other`. */
  readonly algorithm: string | undefined
  /** Its limit; if several policies have its name, such as tiers, the limit of the one asked for
   *  last. `undefined` for `_other`. */
  readonly limit: number | undefined
  /** If the limiter's `policy` is adaptive, its factor at its last use; for others `undefined`. */
  readonly factor: number | undefined
  /** Its window, or the time in which an empty bucket fills up, in ms. `undefined` for `_other`. */
  readonly windowMs: number | undefined
  /** Decisions that it denied, as the binding policy, by reason. */
  readonly denials: Readonly<Record<Denied['reason'], number>>
  /** Decisions that it bound and that were allowed with at most a fifth of its limit left. */
  readonly nearLimit: number
  /** For a policy with `notifyAt`, how often each of its shares was crossed, the least one first;
   *  at most 20 shares under one name. Empty for other policies. */
  readonly crossings: readonly { readonly share: number; readonly count: number }[]
  /** For a lock-out, the blocks that decisions, penalties and settlements began, by level; the
   *  eighth number counts level 8 and above. Empty for other policies. */
  readonly blocks: readonly number[]
  /** For a concurrency, the slots that are held in this process now, by `acquire`, `hold` and
   *  limiters of HTTP requests, and those that expired before they were renewed or released.
   *  `undefined` for other policies. */
  readonly slots: { readonly held: number; readonly expired: number } | undefined
  /** Units charged, refunded, charged as a penalty, and asked for by requests that it denied. All
   *  units of a refund count as refunded, even if there was less to give back. */
  readonly units: {
    readonly taken: number
    readonly refunded: number
    readonly penalty: number
    readonly denied: number
  }
}

export function statsOf({
  name,
  isEnabled: enabled,
  waiting,
  counters,
}: LimiterParts): LimiterStats {
  const { decisions, policies, classes, undecided, waits, isShadow } = counters
  const adaptive = counters.adaptive?.()
  const shown = (outcome: Row['outcome']) =>
    isShadow && outcome === 'denied' ? 'shadow_denied' : outcome
  return {
    limiter: name,
    enabled,
    shadow: isShadow,
    decisions: ROWS.map(({ outcome, source, degraded }, row) => {
      return { outcome: shown(outcome), source, degraded, count: decisions[row] as number }
    }),
    priorities: [...classes].flatMap(([priority, cells]) =>
      CLASS_OUTCOMES.map((outcome, place) => {
        return { priority, outcome: shown(outcome), count: cells[place] as number }
      }),
    ),
    policies: [...policies].map(([name, counters]) => policyStats(name, counters, adaptive)),
    undecided: { ...undecided },
    waiting: waiting.size,
    waits: waits.stats(),
  }
}

function policyStats(
  name: string,
  { policy: latest, cells, crossings }: PolicyCounters,
  adaptive: AdaptiveState | undefined,
): PolicyStats {
  const now = adaptive?.policy.name === name ? adaptive : undefined
  const policy = now?.policy ?? latest
  const at = (place: number): number => cells[place] as number
  const denials = REASONS.map((reason, i) => [reason, at(DENIALS + i)])
  const isOne = name !== OTHERS
  return {
    policy: name,
    algorithm: isOne ? policy.algorithm : undefined,
    limit: isOne ? policy.limit : undefined,
    factor: now?.factor,
    windowMs: isOne ? policy.windowMs : undefined,
    denials: Object.fromEntries(denials) as PolicyStats['denials'],
    nearLimit: at(NEAR_LIMIT),
    crossings: [...new Set([...(policy.notifyAt ?? []), ...crossings.keys()])]
      .sort((one, other) => one - other)
      .map((share) => ({ share, count: crossings.get(share) ?? 0 })),
    blocks: policy.kernel?.traits.blocks ? [...cells.subarray(BLOCKS, BLOCKS + LEVELS)] : [],
    slots: policy.kernel?.traits.isHeld
      ? { held: at(SLOTS_HELD), expired: at(SLOTS_EXPIRED) }
      : undefined,
    units: {
      taken: at(TAKEN),
      refunded: at(REFUNDED),
      penalty: at(PENALTY),
      denied: at(DENIED_UNITS),
    },
  }
}
