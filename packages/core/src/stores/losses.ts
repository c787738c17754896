// Keys that Redis lost before their time: flushed, evicted, or held by a stale replica that took over. An answer shows it (see
// last-seen.ts); then Redis is told what was last seen, and a request that passed only because of the loss is denied.

import type { PolicyFigures } from '../decision.js'
import type { StoreError } from '../errors.js'
import type { Policy } from '../policy.js'
import type { Answer, Group } from '../store.js'
import type { Waiter } from './batches.js'
import type { Events } from './events.js'
import { withDeadline } from './failures.js'
import { type LastSeen, type Lost, raiseOf } from './last-seen.js'
import { Recent } from './recent.js'

export interface LossesOptions {
  readonly deadlineMs: number
  readonly events: Events
  /** Asks Redis. */
  readonly ask: (group: Group, waiter: Waiter) => void
  /** Asks Redis, if it can be asked, and nobody waits for the answer. */
  readonly tell: (group: Group) => void
}

/** A subject, and where what was last seen of it is remembered. */
export interface Watched {
  readonly id: string
  readonly seen: LastSeen
  readonly salt: number
}

/** A loss that Redis is being told of. Until it has answered that, it decides without what was lost. */
interface Telling {
  readonly lost: Lost
  /** What requests that were let through have taken since, for each policy. */
  readonly taken: number[]
  readonly short: Short[]
  /** Until when what they all took weighs. */
  untilUs: readonly number[]
  told: Promise<Told> | undefined
}

/** A request that Redis has granted, and that would have been denied by what was seen: it waits until Redis is told. */
interface Short {
  readonly costs: readonly number[]
  /** Of the policies that would have denied it. */
  readonly places: readonly number[]
  /** Nobody could wait any longer. */
  hasPassed: boolean
}

interface Told {
  readonly raised: Answer
  /** For each policy, whether what was seen is in use again, and not forgotten on purpose. */
  readonly held: readonly boolean[]
}

/** The wait that a raise tells of a policy that was forgotten on purpose since. */
const FORGOTTEN = Number.POSITIVE_INFINITY

/** Losses that Redis could not be told of yet, at the most. */
const MAX_UNTOLD = 1_000

export class Losses {
  readonly #options: LossesOptions
  readonly #untold: Recent<Lost> = new Recent(MAX_UNTOLD)
  /** By subject; not of those that were forgotten meanwhile. */
  readonly #telling: Map<string, Telling> = new Map()

  constructor(options: LossesOptions) {
    this.#options = options
  }

  /**
   * Remembers an answer of Redis. Returns the answer to give instead, if this one was given without what was lost.
   * @param sentMs when the call was sent, by performance.now(): whoever waits does so no longer than for the call
   */
  noted(group: Group, watched: Watched, answer: Answer, sentMs: number): Promise<Answer> | undefined {
    // What takes nothing tells nothing new, and must not hide that a key was lost.
    if (group.mode === 'peek' || takesNothing(group)) return undefined
    const { id, seen, salt } = watched
    const lost = seen.note(id, salt, answer, group.mode) ?? this.#takeUntold(watched)
    const telling = lost === undefined ? this.#tellingOf(watched) : this.#tell(group, watched, lost)
    if (telling === undefined || !answer.allowed || !takes(group)) return undefined
    telling.untilUs = answer.untilUs
    const places = group.mode === 'consume' ? shortPlaces(group, telling, answer) : []
    if (places.length === 0) {
      add(telling.taken, group.costs)
      return undefined
    }
    const short: Short = { costs: group.costs, places, hasPassed: false }
    telling.short.push(short)
    const leftMs = sentMs + this.#options.deadlineMs - performance.now()
    return withDeadline(telling.told as Promise<Told>, Math.max(1, leftMs)).then(
      ({ raised, held }) => (isDenied(short, held) ? denial(group, short, telling, raised) : answer),
      () => {
        short.hasPassed = true
        return answer
      },
    )
  }

  /** What Redis could not be told of yet. */
  untold(watched: Watched): Lost | undefined {
    return this.#untold.isEmpty ? undefined : this.#untold.get(textOf(watched))
  }

  /** The subject was forgotten on purpose. */
  forget(watched: Watched): void {
    watched.seen.forget(watched.id, watched.salt)
    const text = textOf(watched)
    this.#untold.delete(text)
    this.#telling.delete(text)
  }

  #tellingOf(watched: Watched): Telling | undefined {
    return this.#telling.size === 0 ? undefined : this.#telling.get(textOf(watched))
  }

  #tell(group: Group, watched: Watched, lost: Lost): Telling {
    const text = textOf(watched)
    const { id, seen, salt } = watched
    const telling: Telling = {
      lost,
      taken: lost.remaining.map(() => 0),
      short: [],
      untilUs: lost.untilUs,
      told: undefined,
    }
    // Before Redis is asked, which may fail at once.
    this.#telling.set(text, telling)
    // Otherwise the subject was forgotten on purpose, or lost once more.
    const isCurrent = () => this.#telling.get(text) === telling
    telling.told = new Promise<Told>((resolve, reject) => {
      this.#options.ask(raiseOf(group, lost), {
        answered: (raised) => {
          const held = heldBy(telling, raised)
          if (isCurrent()) {
            this.#telling.delete(text)
            seen.note(id, salt, raised, 'raise')
            this.#correct(group, telling, raised, held)
          }
          if (held.includes(true) || (raised.allowed && !isForgotten(telling, raised))) {
            this.#options.events.emit('data-loss', { limiter: group.plan.name, key: group.key })
          }
          resolve({ raised, held })
        },
        failed: (error: StoreError) => {
          if (isCurrent()) {
            this.#telling.delete(text)
            this.#untold.set(text, lost)
          }
          reject(error)
        },
      })
    })
    // Often nobody waits for it.
    telling.told.catch(() => {})
    return telling
  }

  /**
   * Sees to it that Redis has counted what was seen, and what was let through since. Of what is in use after a loss and what
   * was seen before, a raise makes their sum in a log, and in a window whose end it moves; else the larger of both.
   */
  #correct({ plan, key, ownKeys }: Group, telling: Telling, raised: Answer, held: readonly boolean[]): void {
    const { untilUs } = telling
    const taken = [...telling.taken]
    const denied = taken.map(() => 0)
    for (const short of telling.short) add(isDenied(short, held) ? denied : taken, short.costs)
    const owed = plan.policies.map((policy, i) => {
      const most = denied[i] as number
      if (!held[i] || isSum(telling, raised, i)) return -most
      const { limit, remaining } = raised.figures[i] as PolicyFigures
      const due = limit - remainingThen(telling, raised, i) + (taken[i] as number) - (limit - remaining)
      // How much of a log, or of the window before a counter's, has passed since it was seen is not known: what is there is
      // enough.
      const { algorithm, unitMs } = policy
      const isOneWindow = endMs(untilUs, i) === endMs(telling.lost.untilUs, i)
      const isExact =
        unitMs > 0 || algorithm === 'fixed-window' || (algorithm === 'sliding-counter' && isOneWindow)
      return Math.max(-most, Math.min(isExact ? (taken[i] as number) : 0, due))
    })
    const back = owed.map((units) => Math.max(0, -units))
    this.#tellIfAny({ plan, key, ownKeys, mode: 'refund', costs: back, untilUs, seenUs: raised.nowUs })
    this.#tellIfAny({
      plan,
      key,
      ownKeys,
      mode: 'settle',
      costs: owed.map((units) => Math.max(0, units)),
      untilUs,
    })
  }

  #tellIfAny(group: Group): void {
    if (!takesNothing(group)) this.#options.tell(group)
  }

  #takeUntold(watched: Watched): Lost | undefined {
    const lost = this.untold(watched)
    if (lost !== undefined) this.#untold.delete(textOf(watched))
    return lost
  }
}

function textOf({ id, salt }: Watched): string {
  return `${salt} ${id}`
}

function takesNothing({ costs }: Group): boolean {
  for (let i = 0; i < costs.length; i += 1) if (costs[i] !== 0) return false
  return true
}

/** Whether it takes units, or took them elsewhere. */
function takes({ mode }: Group): boolean {
  return mode === 'consume' || mode === 'charge' || mode === 'settle'
}

function add(sums: number[], costs: readonly number[]): void {
  for (let i = 0; i < costs.length; i += 1) sums[i] = (sums[i] as number) + (costs[i] as number)
}

function endMs(untilUs: readonly number[], i: number): number {
  return Math.floor((untilUs[i] as number) / 1_000)
}

/** What remains by now of what was seen: what has drained from a bucket since counts, and nothing does that is over. */
function remainingThen({ lost }: Telling, { nowUs, figures }: Answer, i: number): number {
  const { policy, limit } = figures[i] as PolicyFigures
  if ((lost.untilUs[i] as number) <= nowUs) return limit
  const drained = policy.unitMs > 0 ? Math.floor((nowUs - lost.nowUs) / (policy.unitMs * 1_000)) : 0
  return Math.min(limit, (lost.remaining[i] as number) + drained)
}

/** The policies that would have denied a request, by what was seen and what was let through since. */
function shortPlaces({ costs }: Group, telling: Telling, answer: Answer): number[] {
  const { lost, taken } = telling
  return [...costs.keys()].filter((i) => {
    const cost = costs[i] as number
    return lost.shown[i] && cost > 0 && remainingThen(telling, answer, i) - (taken[i] as number) < cost
  })
}

/**
 * Whether a raise has added what was seen to what is in use: more may then be in use than the limit, and is not told. Of a log
 * among several policies nobody knows; then it stays stricter than it need be, for a window.
 */
function isSum({ untilUs, lost }: Telling, { figures, allowed: wasRaised }: Answer, i: number): boolean {
  const { policy } = figures[i] as PolicyFigures
  if (policy.algorithm === 'fixed-window') return endMs(untilUs, i) > endMs(lost.untilUs, i)
  return wasRaised && figures.length === 1 && isLog(policy)
}

function isLog({ algorithm }: Policy): boolean {
  return algorithm === 'sliding-log' || algorithm === 'sliding-window'
}

function heldBy(telling: Telling, raised: Answer): boolean[] {
  return raised.figures.map(({ limit, remaining, retryAfterMs }, i) => {
    const used = limit - remainingThen(telling, raised, i)
    return telling.lost.shown[i] === true && retryAfterMs !== FORGOTTEN && limit - remaining >= used
  })
}

/** Whether all that had less in use than was seen was forgotten on purpose. */
function isForgotten({ lost }: Telling, { figures }: Answer): boolean {
  return figures.every(({ retryAfterMs }, i) => lost.shown[i] !== true || retryAfterMs === FORGOTTEN)
}

function isDenied({ places, hasPassed }: Short, held: readonly boolean[]): boolean {
  return !hasPassed && places.some((i) => held[i])
}

/** The request is denied as if nothing had been lost. */
function denial({ costs }: Group, { places }: Short, telling: Telling, raised: Answer): Answer {
  const figures = raised.figures.map((each, i) => {
    const cost = costs[i] as number
    const left = remainingThen(telling, raised, i) - (telling.taken[i] as number)
    const remaining = Math.max(0, Math.min(each.remaining, left))
    if (!places.includes(i)) return { ...each, cost, remaining, retryAfterMs: 0 }
    const { unitMs } = each.policy
    const waitMs = unitMs > 0 ? Math.ceil((cost - remaining) * unitMs) : each.resetAfterMs
    return { ...each, cost, remaining, retryAfterMs: Math.max(1, waitMs) }
  })
  return { ...raised, allowed: false, figures }
}
