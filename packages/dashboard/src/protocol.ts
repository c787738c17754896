// What the server sends to the page, and what the page asks: JSON of these shapes. Server and page
// share these types.

/** The state of everything shown, sent each second as the data of a server-sent event `frame`. */
export interface Frame {
  /** Grows by 1. */
  readonly sequence: number
  /** The server's clock, in ms since the Unix epoch. */
  readonly atMs: number
  /** The process that answers this page. */
  readonly process: string
  readonly viewer: { readonly name: string | undefined; readonly mayAct: boolean }
  /** Only in a viewer's first frame: the last minute, the oldest first, if somebody watched. */
  readonly past?: readonly Past[]
  /** Since when keys are seen, in ms since the Unix epoch: somebody began to watch then. */
  readonly seenSinceMs?: number | undefined
  readonly limiters: readonly LimiterFrame[]
  readonly stores: readonly StoreFrame[]
  readonly guards: readonly GuardFrame[]
  readonly live: readonly LiveFrame[]
  /** The processes that have reported, this one first. */
  readonly fleet: readonly ProcessFrame[]
  /** Actions that this process was asked for, the latest first; at most 100. */
  readonly actions: readonly ActionNote[]
  /** How many limiters beyond the first 200 are not shown. */
  readonly omitted: number
}

/** What the page needs of earlier frames. */
export interface Past {
  readonly atMs: number
  readonly limiters: readonly {
    readonly id: string
    readonly totals: Totals
    readonly degraded: number
  }[]
  readonly stores: readonly Pick<StoreFrame, 'id' | 'nodes'>[]
  readonly guards: readonly Pick<GuardFrame, 'id' | 'refused'>[]
}

/** Decisions by outcome. */
export type Totals = Readonly<Record<'allowed' | 'shadow_denied' | 'denied' | 'error', number>>

/** This process's totals since the limiter was made, as `limiter.stats()` has them. The page
 *  computes rates from the differences between frames. */
export interface LimiterFrame {
  /** Names the limiter in actions and lookups: its name, with `#2` behind it for the second limiter
   *  of that name. */
  readonly id: string
  readonly name: string
  /** The id of its store. */
  readonly store?: string
  readonly enabled: boolean
  readonly shadow: boolean
  readonly waiting: number
  /** Only rows whose count is not 0. */
  readonly decisions: readonly {
    readonly outcome: 'allowed' | 'denied' | 'shadow_denied' | 'error'
    readonly source: 'store' | 'cache' | 'lease' | 'local' | 'none'
    readonly degraded: boolean
    readonly count: number
  }[]
  readonly priorities: readonly {
    readonly priority: string
    readonly outcome: string
    readonly count: number
  }[]
  readonly policies: readonly {
    readonly policy: string
    readonly algorithm: string | undefined
    readonly limit: number | undefined
    readonly windowMs: number | undefined
    readonly factor: number | undefined
    readonly denials: Readonly<Record<string, number>>
    readonly nearLimit: number
    readonly blocks: readonly number[]
    readonly slots: { readonly held: number; readonly expired: number } | undefined
    readonly units: Readonly<Record<'taken' | 'refunded' | 'penalty' | 'denied', number>>
  }[]
  readonly undecided: Readonly<
    Record<'skip' | 'allowList' | 'denyList' | 'preflight' | 'noKey', number>
  >
  /** How many waits ended, and their sum in seconds. */
  readonly waits: { readonly count: number; readonly sum: number }
  /** Keys that were refused since watching began, the most refused first; at most 20. */
  readonly refusedKeys: readonly KeyRow[]
  /** Keys that were allowed with at most a fifth of a limit left, the latest first; at most 20. */
  readonly nearKeys: readonly NearRow[]
}

export interface KeyRow {
  /** The key as it is shown: masked, unless `showKeys` is set. */
  readonly key: string
  /** Stands for the key in lookups and actions, without revealing it. Valid in this process, while
   *  somebody watches. */
  readonly handle: string
  /** The key was refused at most this often, and at least `count - error` times. */
  readonly count: number
  readonly error: number
  readonly lastMs: number
  readonly policy: string
  /** null: never. */
  readonly retryAfterMs: number | null
}

export interface NearRow {
  readonly key: string
  readonly handle: string
  readonly lastMs: number
  readonly policy: string
  readonly remaining: number
  readonly limit: number
}

export interface StoreFrame {
  readonly id: string
  readonly kind: string
  readonly instances: number
  /** What came of this page's own question who has reported, the last time. `asked`: no answer yet,
   *  since somebody began to watch. Undefined: it is not asked. */
  readonly answer?: 'came' | 'missing' | 'asked' | undefined
  readonly unreconciled: number
  /** What it does when it cannot decide, unless a limiter says otherwise. */
  readonly whenUnavailable?: 'local' | 'allow' | 'deny' | 'throw' | 'policy' | undefined
  readonly events: Readonly<Record<string, number>>
  readonly nodes: readonly {
    readonly node: string
    readonly state: 'closed' | 'open' | 'half-open'
    /** Since when it has not been closed, in ms since the Unix epoch. */
    readonly awaySinceMs?: number | undefined
    readonly inFlight: number
    readonly calls: Readonly<Record<'ok' | 'timeout' | 'error' | 'notSent', number>>
    /** Upper bounds in seconds, and each bucket's count (not cumulative); the last bucket is for
     *  longer durations. */
    readonly durations: { readonly bounds: readonly number[]; readonly counts: readonly number[] }
  }[]
  readonly memory:
    | { readonly keys: number; readonly bytes: number; readonly evictions: number }
    | undefined
}

export interface GuardFrame {
  readonly id: string
  readonly limit: number
  readonly inFlight: number
  readonly refused: number
  readonly priorities: readonly Readonly<Record<string, string | number>>[]
}

export interface LiveFrame {
  readonly id: string
  readonly version: number
  readonly pending: number
  readonly refused: number
  readonly heardMsAgo: number | undefined
  readonly isCurrent: boolean
  /** When history and processes were read last, in ms since the Unix epoch. */
  readonly listedAtMs?: number | undefined
  /** The policies that hold, by name, as JSON for policyFrom; with the default if another holds. */
  readonly policies: readonly {
    readonly name: string
    readonly policy: object
    readonly default: object | undefined
  }[]
  /** How many overrides there are; `overrides` has the first 100. */
  readonly overrideCount: number
  readonly overrides: readonly {
    readonly kind: 'key' | 'prefix'
    /** Masked as other keys are. */
    readonly key: string
    readonly handle: string
    readonly name: string
    readonly policy: object
  }[]
  readonly history: readonly {
    readonly version: number
    readonly madeAtMs: number
    readonly what: string
    readonly was: object | undefined
    readonly policy: object | undefined
  }[]
  readonly processes: readonly {
    readonly process: string
    readonly version: number
    readonly isCurrent: boolean
    readonly refused: readonly string[]
  }[]
}

export interface ProcessFrame {
  readonly process: string
  readonly isThis: boolean
  readonly atMs: number
  readonly limiters: readonly {
    readonly name: string
    readonly enabled: boolean
    readonly allowed: number
    readonly denied: number
    readonly shadowDenied: number
    readonly degraded: number
    readonly errors: number
    readonly waiting: number
    readonly refusedKeys: readonly Pick<KeyRow, 'key' | 'count' | 'error'>[]
  }[]
  /** The worst state of any node of its stores. */
  readonly health: 'closed' | 'open' | 'half-open'
  readonly memoryBytes: number
  readonly uptimeMs: number
}

/** What was noted about an action. */
export interface ActionNote {
  /** When, in ms since the Unix epoch, by the process's clock. */
  readonly atMs: number
  /** The name that `authorize` gave; `'authorized'` if it gave none, `'token'` if there is no
   *  `authorize`. */
  readonly who: string
  /** The action in words, with the key as the page shows it. */
  readonly what: string
  /** `refused`: Weir refused it, and nothing changed. `failed`: the store did not answer. */
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Why the action was refused or failed; if it was done, anything else to say about it. */
  readonly why: string | undefined
}

/** POST lookup: what holds for a key. Takes no units. */
export type LookupRequest = { readonly limiter: string } & KeyOrHandle

export interface Lookup {
  readonly limiter: string
  readonly key: string
  /** null: it cannot be known, and `unknown` says why. */
  readonly allowed: boolean | null
  /** Why a request would be refused now, in a sentence; undefined: it would not be, or that is not
   *  known. */
  readonly why: string | undefined
  /** When a request would pass: null: never; 0: now. */
  readonly retryAfterMs: number | null
  readonly policies: readonly {
    readonly policy: string
    readonly algorithm: string
    /** null: unlimited. */
    readonly limit: number | null
    readonly remaining: number | null
    readonly windowMs: number | undefined
    /** When the policy would let a request pass: null: never; 0: now. */
    readonly retryAfterMs: number | null
    readonly resetAfterMs: number
    readonly block: { readonly level: number; readonly blocked: boolean } | undefined
    /** 'key', 'prefix': an override in live policies. */
    readonly from: 'code' | 'live' | 'key' | 'prefix'
  }[]
  /** What this page cannot know, in sentences. */
  readonly unknown: readonly string[]
}

/**
 * POST actions, as JSON. `confirm` repeats the name of what is changed: `name` to set and unset,
 * `live` for other changes to live policies, and else `limiter`.
 */
export type Action = { readonly confirm: string } & (
  | { readonly kind: 'set'; readonly live: string; readonly name: string; readonly policy: object }
  | { readonly kind: 'unset'; readonly live: string; readonly name: string }
  | ({
      readonly kind: 'override'
      readonly live: string
      /** Whose key the handle stands for. */
      readonly limiter?: string
      /** Not with a handle. */
      readonly isPrefix: boolean
      readonly policy: object
    } & KeyOrHandle)
  | { readonly kind: 'remove'; readonly live: string; readonly handle: string }
  | { readonly kind: 'rollback'; readonly live: string; readonly version: number }
  | ({ readonly kind: 'reset' | 'unblock'; readonly limiter: string } & KeyOrHandle)
  | ({
      readonly kind: 'block'
      readonly limiter: string
      readonly duration: string
    } & KeyOrHandle)
  | { readonly kind: 'enable' | 'disable'; readonly limiter: string }
)

/** Whose counters: either `key` or `handle`. */
export interface KeyOrHandle {
  readonly key?: string
  readonly handle?: string
}

/** The answer to an action. */
export interface ActionAnswer {
  readonly note: ActionNote
  readonly problem?: Problem
}

/** The answer to an action that is only previewed. */
export interface Preview {
  /** Units that were used before do not count under the policy that would hold. */
  readonly isNewCounter: boolean
}

/** What went wrong, as JSON: with a code of Weir's (`WEIR_...`), or of the page's server
 *  (`not-authorized`). */
export interface Problem {
  readonly code: string
  readonly message: string
}

// Paths under the mount: GET '' (page), GET app.js, GET app.css, GET events (server-sent events),
// POST lookup, POST preview and POST actions (both take an Action). Refused requests are answered
// with a Problem:
//   401 no-token          there is no authorize, and the request has no token
//   403 not-authorized    authorize said no
//   403 foreign-origin    another site sent the POST or asked for events
//   403 actions-off       actions are not switched on
//   403 may-not-act       authorize said that this viewer may only look
//   400 invalid-request, 404 not-found, 405 wrong-method, 409 not-confirmed, 413 too-large,
//   414 too-long, 415 not-json, 500 failed, 502 store-failed
//   503 too-many-viewers  with Retry-After in s; closed; authorize-late
// GET '' without access is answered with 401 or 403, and still with the page, which gets the same
// status when it asks for events. Assets are open to everybody. An action that was refused or
// failed is answered with 200 and an ActionAnswer that has a `problem`.
