// What the Redis store keeps for each policy set: how to call Redis for it, and what it knows of the policy set's targets.

import { keyHash } from '../base/key-hash.js'
import { Denials } from '../layers/deny-cache.js'
import { type LeaseOptions, Leases } from '../layers/leases.js'
import { LastSeen } from '../layers/resilience/last-seen.js'
import { type PolicySet, type StoreRequest, type Target, textOfTarget } from '../store.js'
import { idOfText, type KeyFormat } from './transport/keys.js'
import { type Line, lineFor } from './transport/script-call.js'

export interface DesksOptions {
  readonly format: KeyFormat
  readonly denyCache: boolean
  readonly leases: LeaseOptions | undefined
  /** The store's time, where it is injected. */
  readonly nowUs: () => number | undefined
  /** Asks Redis, and nobody waits for the answer. */
  readonly tell: (group: StoreRequest) => void
}

export interface Desk {
  readonly line: Line
  /** Of all policy sets with as many policies; the salt tells this one's targets from theirs. */
  readonly seen: LastSeen
  readonly salt: number
  /** Of all policy sets of the limiter's name, so that what is done under one shows under the others. */
  readonly denials: Denials | undefined
  readonly leases: Leases | undefined
}

export class Desks {
  readonly #options: DesksOptions
  readonly #desks: WeakMap<PolicySet, Desk> = new WeakMap()
  readonly #denials: Map<string, Denials> = new Map()
  readonly #leases: Map<string, Leases> = new Map()
  readonly #seen: Map<number, LastSeen> = new Map()

  constructor(options: DesksOptions) {
    this.#options = options
  }

  of(policySet: PolicySet): Desk {
    let desk = this.#desks.get(policySet)
    if (desk === undefined) {
      desk = {
        line: lineFor(this.#options.format, policySet),
        seen: this.#seenWith(policySet.policies.length),
        salt: saltOf(policySet),
        denials: this.#denialsOf(policySet),
        leases: this.#leasesOf(policySet),
      }
      this.#desks.set(policySet, desk)
    }
    return desk
  }

  close(): void {
    for (const leases of this.#leases.values()) leases.close()
  }

  #denialsOf({ name }: PolicySet): Denials | undefined {
    const { denyCache, nowUs } = this.#options
    if (!denyCache) return undefined
    let denials = this.#denials.get(name)
    if (denials === undefined) {
      denials = new Denials(nowUs)
      this.#denials.set(name, denials)
    }
    return denials
  }

  #leasesOf({ name }: PolicySet): Leases | undefined {
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

/** Tells the targets of a policy set from those of others; equal policy sets have the same, whenever they were made. */
function saltOf({ name, policies }: PolicySet): number {
  keyHash.hash(JSON.stringify([name, ...policies.map(({ signature }) => signature)]))
  return keyHash.low
}

/** A target among those of its policy set. */
export function idOf(target: Target): string {
  return idOfText(textOfTarget(target))
}
