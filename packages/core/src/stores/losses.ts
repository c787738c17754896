// Keys that Redis lost before their time: flushed, evicted, or held by a stale replica that took over. An answer shows it (see
// last-seen.ts); then Redis is told what was last seen, and a request that passed only because of the loss is denied.

import type { StoreError } from '../errors.js'
import type { Answer, Group } from '../store.js'
import type { Waiter } from './batches.js'
import type { Events } from './events.js'
import { withDeadline } from './failures.js'
import { type LastSeen, raiseOf, type Seen } from './last-seen.js'
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

/** A loss that Redis is being told of. Whatever is answered before it says something was decided without what was lost. */
interface Telling {
  readonly lost: Seen
  /** What requests have taken since, for each policy, of what remained. */
  readonly taken: number[]
  readonly told: Promise<Answer>
}

/** Losses that Redis could not be told of yet, at the most. */
const MAX_UNTOLD = 1_000

export class Losses {
  readonly #options: LossesOptions
  readonly #untold: Recent<Seen> = new Recent(MAX_UNTOLD)
  /** Of subjects that were not forgotten meanwhile. */
  readonly #telling: Map<string, Telling> = new Map()

  constructor(options: LossesOptions) {
    this.#options = options
  }

  /**
   * Remembers an answer of Redis. Returns the answer to give instead, if this one shows a loss.
   * @param sentMs when the call was sent, by performance.now(): whoever waits does so no longer than for the call
   */
  noted(group: Group, watched: Watched, answer: Answer, sentMs: number): Promise<Answer> | undefined {
    // What takes nothing tells nothing new, and must not hide that a key was lost.
    if (group.mode === 'peek' || takesNothing(group)) return undefined
    const { id, seen, salt } = watched
    const lost = seen.note(id, salt, answer, group.mode) ?? this.#takeUntold(watched)
    const telling = lost === undefined ? this.#tellingOf(watched) : this.#tell(group, watched, lost)
    if (telling === undefined || group.mode !== 'consume' || !answer.allowed) return undefined
    if (!isShort(group, telling, answer)) {
      group.costs.forEach((cost, i) => {
        telling.taken[i] = (telling.taken[i] as number) + cost
      })
      return undefined
    }
    const leftMs = sentMs + this.#options.deadlineMs - performance.now()
    return withDeadline(telling.told, Math.max(1, leftMs)).then(
      (raised) => this.#afterLoss(group, telling.lost, answer, raised),
      () => answer,
    )
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

  /** Tells Redis what was last seen. It says then whether something was lost. */
  #tell(group: Group, watched: Watched, lost: Seen): Telling {
    const { events, ask } = this.#options
    const text = textOf(watched)
    const told = new Promise<Answer>((resolve, reject) => {
      ask(raiseOf(group, lost), {
        answered: (raised) => {
          this.#telling.delete(text)
          if (raised.allowed) events.emit('data-loss', { limiter: group.plan.name, key: group.key })
          watched.seen.note(watched.id, watched.salt, raised, 'raise')
          resolve(raised)
        },
        failed: (error: StoreError) => {
          // Unless it was forgotten on purpose.
          if (this.#telling.delete(text)) this.#untold.set(text, lost)
          reject(error)
        },
      })
    })
    // Often nobody waits for it.
    told.catch(() => {})
    const telling = { lost, taken: lost.remaining.map(() => 0), told }
    this.#telling.set(text, telling)
    return telling
  }

  /**
   * A request that was allowed only because its key was lost is denied, and given back what it was charged. If nothing was
   * raised, the key had been forgotten on purpose, and the answer stands.
   */
  #afterLoss(group: Group, lost: Seen, answer: Answer, raised: Answer): Answer {
    if (!raised.allowed) return answer
    const { nowUs, untilUs } = answer
    // A window raised to the larger of both has swallowed the charge, and only what is above what was seen goes back. One to
    // which it was added is above both, as far as the limit lets one see.
    const costs = raised.figures.map(({ limit, remaining }, i) => {
      const cost = group.costs[i] as number
      const used = limit - remaining
      const seen = limit - remainingThen(group, lost, answer, i)
      if (remaining === 0 && used > Math.max(cost, seen)) return cost
      return Math.max(0, Math.min(cost, used - seen))
    })
    if (costs.some((cost) => cost > 0)) {
      this.#options.tell({ ...group, costs, mode: 'refund', untilUs, seenUs: nowUs })
    }
    const figures = raised.figures.map((each, i) => {
      const cost = group.costs[i] as number
      return { ...each, cost, retryAfterMs: each.remaining < cost ? Math.max(1, each.retryAfterMs) : 0 }
    })
    return { ...raised, allowed: false, figures }
  }

  #takeUntold(watched: Watched): Seen | undefined {
    if (this.#untold.isEmpty) return undefined
    const text = textOf(watched)
    const lost = this.#untold.get(text)
    this.#untold.delete(text)
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

/** What remained by now of what was last seen: what has drained from a bucket since counts. */
function remainingThen({ plan }: Group, { remaining, nowUs }: Seen, answer: Answer, i: number): number {
  const unitMs = plan.policies[i]?.unitMs ?? 0
  const drained = unitMs > 0 ? Math.floor((answer.nowUs - nowUs) / (unitMs * 1_000)) : 0
  return (remaining[i] as number) + drained
}

/** Whether, by what was last seen and what was taken since, this request would have been denied. */
function isShort(group: Group, { lost, taken }: Telling, answer: Answer): boolean {
  return group.costs.some((cost, i) => remainingThen(group, lost, answer, i) - (taken[i] as number) < cost)
}
