// What a limiter has counted, for those who watch it: plain values, made when they are asked for.

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

/** What a limiter has counted since it was made, in this process: `limiter.stats()`. */
export interface LimiterStats {
  /** Name of the limiter. */
  readonly limiter: string
  /** False: it is switched off. */
  readonly enabled: boolean
  /** True: its denials are not enforced. */
  readonly shadow: boolean
  /** Decisions of `consume`, `decide`, `wait` and `consumeUpTo`. Each is counted once, so they may
   *  be added up. */
  readonly decisions: readonly DecisionStats[]
  /** The same decisions once more, of those that have a class: by class. Empty without
   *  `reserve`. */
  readonly priorities: readonly PriorityStats[]
  /** Of each policy, 200 at the most: those with other names are one, called `_other`. */
  readonly policies: readonly PolicyStats[]
  /** Requests of HTTP on which no decision was made, by why. */
  readonly undecided: UndecidedStats
  /** Those who wait for their turn now. */
  readonly waiting: number
  /** How long each `wait` took that was decided, also those that were denied. */
  readonly waits: HistogramStats
}

/** Requests of HTTP on which no decision was made. */
export interface UndecidedStats {
  /** `skip` said so. */
  readonly skip: number
  /** Their addresses are on the list `allow`. */
  readonly allowList: number
  /** Refused: their addresses are on the list `deny`. */
  readonly denyList: number
  /** They were preflights of CORS. */
  readonly preflight: number
  /** They had no usable key, and `onMissingKey` lets them pass or refuses them; or a key that is
   *  too long, and were refused. */
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
  /** As of the decision; true for errors. */
  readonly degraded: boolean
  /** How many. */
  readonly count: number
}

/** Decisions of one class and outcome. */
export interface PriorityStats {
  /** The class: one of `reserve`, or `critical`. */
  readonly priority: string
  /** As of `decisions`. */
  readonly outcome: DecisionStats['outcome']
  /** How many. What no store was asked for, as the limiter is switched off, has no class. */
  readonly count: number
}

/** What was counted of a policy. */
export interface PolicyStats {
  /** Its name; `_other` for those beyond 200. */
  readonly policy: string
  /** Which algorithm decides. `undefined` of `_other`. */
  readonly algorithm: string | undefined
  /** Its limit; of several under one name, such as tiers, of the one asked for last. `undefined` of
   *  `_other`. */
  readonly limit: number | undefined
  /** Where the limiter's `policy` is an adaptive one: its factor at its last use. Of others
   *  `undefined`. */
  readonly factor: number | undefined
  /** Its window, or the time in which an empty bucket fills up. `undefined` of `_other`. */
  readonly windowMs: number | undefined
  /** Decisions that it denied, as the binding policy, by reason. */
  readonly denials: Readonly<Record<Denied['reason'], number>>
  /** Decisions that it bound and that were allowed with at most a fifth of its limit left. */
  readonly nearLimit: number
  /** Of a lock-out: the blocks that decisions, penalties and settlements began, by level; those of
   *  the eighth and above are one. Of other policies none. */
  readonly blocks: readonly number[]
  /** Of a concurrency: its slots that are held in this process now, by `acquire`, `hold` and
   *  limiters of HTTP requests, and those that expired before they were renewed or released. Of
   *  other policies `undefined`. */
  readonly slots: { readonly held: number; readonly expired: number } | undefined
  /** Units: charged, refunded, charged as a penalty, and asked for where it denied. What refunds
   *  ask for counts as refunded, also where there was less to give back. */
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
  { policy: latest, cells }: PolicyCounters,
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
    blocks: policy.kernel?.traits.blocks ? [...cells.subarray(BLOCKS, BLOCKS + LEVELS)] : [],
    slots: policy.kernel?.traits.holds
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
