// What the Redis store keeps for each plan: how to call Redis for it, and what it knows of the plan's subjects.

import { keyHash } from '../base/key-hash.js'
import { Denials } from '../layers/deny-cache.js'
import { type LeaseOptions, Leases } from '../layers/leases.js'
import { LastSeen } from '../layers/resilience/last-seen.js'
import { type Group, type Plan, type Subject, textOfSubject } from '../store.js'
import { idOfText, type KeyFormat } from './transport/keys.js'
import { type Line, lineFor } from './transport/script-call.js'

export interface DesksOptions {
  readonly format: KeyFormat
  readonly denyCache: boolean
  readonly leases: LeaseOptions | undefined
  /** The store's time, where it is injected. */
  readonly nowUs: () => number | undefined
  /** Asks Redis, and nobody waits for the answer. */
  readonly tell: (group: Group) => void
}

export interface Desk {
  readonly line: Line
  /** Of all plans with as many policies; the salt tells this one's subjects from theirs. */
  readonly seen: LastSeen
  readonly salt: number
  /** Of all plans of the limiter's name, so that what is done under one shows under the others. */
  readonly denials: Denials | undefined
  readonly leases: Leases | undefined
}

export class Desks {
  readonly #options: DesksOptions
  readonly #desks: WeakMap<Plan, Desk> = new WeakMap()
  readonly #denials: Map<string, Denials> = new Map()
  readonly #leases: Map<string, Leases> = new Map()
  readonly #seen: Map<number, LastSeen> = new Map()

  constructor(options: DesksOptions) {
    this.#options = options
  }

  of(plan: Plan): Desk {
    let desk = this.#desks.get(plan)
    if (desk === undefined) {
      desk = {
        line: lineFor(this.#options.format, plan),
        seen: this.#seenWith(plan.policies.length),
        salt: saltOf(plan),
        denials: this.#denialsOf(plan),
        leases: this.#leasesOf(plan),
      }
      this.#desks.set(plan, desk)
    }
    return desk
  }

  close(): void {
    for (const leases of this.#leases.values()) leases.close()
  }

  #denialsOf({ name }: Plan): Denials | undefined {
    const { denyCache, nowUs } = this.#options
    if (!denyCache) return undefined
    let denials = this.#denials.get(name)
    if (denials === undefined) {
      denials = new Denials(nowUs)
      this.#denials.set(name, denials)
    }
    return denials
  }

  #leasesOf({ name }: Plan): Leases | undefined {
    const { leases: options, nowUs, tell } = this.#options
    if (options === undefined) return undefined
    let leases = this.#leases.get(name)
    if (leases === undefined) {
      leases = new Leases(options, nowUs, tell)
      this.#leases.set(name, leases)
    }
    return leases
  }

  #seenWith(policies: number): LastSeen {
    let seen = this.#seen.get(policies)
    if (seen === undefined) {
      seen = new LastSeen(policies)
      this.#seen.set(policies, seen)
    }
    return seen
  }
}

/** Tells the subjects of a plan from those of others; equal plans have the same, whenever they were made. */
function saltOf({ name, policies }: Plan): number {
  keyHash.hash(JSON.stringify([name, ...policies.map(({ signature }) => signature)]))
  return keyHash.low
}

/** A subject among those of its plan. */
export function idOf(subject: Subject): string {
  return idOfText(textOfSubject(subject))
}
