// Notices that a node has lost what was written to it. Each process has a number of its own on each
// node, which it raises every few seconds. A number that it was given before means that all that
// was written later may be lost, of every key. A number that processes share would not do: others
// may have raised it past what was lost.

import { fixedWindow } from '../../algorithms/fixed-window/policies.js'
import type { Time } from '../../base/time.js'
import type { LayerRequest } from '../../layer.js'
import { MadeTarget, makePolicySet } from '../../request.js'
import type { PolicySet, StoreResult, Target } from '../../store.js'
import type { Backend, BackendNode } from './backend.js'

const MOST = 1_000_000_000
const BEATS = fixedWindow({ name: 'beats', limit: MOST, window: '1h' })
/** The set of the policy that counts beats. */
export const BEAT_SET: PolicySet = makePolicySet('weir', [BEATS])

/** How many beats are remembered with their times: 50 minutes of them. */
const REMEMBERED = 1_000

/** What a node may have lost: all that was seen in it from `sinceUs` until `atUs`, by its clock. */
export interface Loss {
  readonly sinceUs: number
  readonly atUs: number
  /** Something was lost, though not of every key. */
  readonly isSure: boolean
  /** A result showed it, of counters that tell by themselves what they have lost. */
  readonly isOfKey?: true
}

/** How many losses of a node are told apart. */
const LOSSES = 16

/** Adds a loss to the others. Of too many, the first two become one. */
export function withLoss(losses: readonly Loss[] = [], loss: Loss): readonly Loss[] {
  const all = [...losses, loss]
  const [first, second, ...others] = all
  if (all.length <= LOSSES || first === undefined || second === undefined) return all
  const { sinceUs, isSure } = first
  return [{ sinceUs, atUs: second.atUs, isSure: isSure || second.isSure }, ...others]
}

/** The loss by which what was seen at a time may be lost; undefined: it is not. */
export function lossOf(losses: readonly Loss[] | undefined, seenUs: number): Loss | undefined {
  return losses?.findLast(({ sinceUs, atUs }) => seenUs >= sinceUs && seenUs < atUs)
}

/** A number of this process on a node. */
export class Canary {
  readonly target: Target
  /** When each of the last numbers was given, and which the first of them is. */
  readonly #times: number[] = []
  #first = 1
  /** The end of the window that counts. */
  #untilUs = 0

  constructor(key: string) {
    // Of the class that limiters use: otherwise, the first beat has V8 compile what reads targets.
    this.target = new MadeTarget(BEAT_SET, key, undefined)
  }

  /** When the last beat was answered, by the node's clock; 0: none was. */
  get lastUs(): number {
    return this.#times.at(-1) ?? 0
  }

  beat(): LayerRequest {
    return { mode: 'penalty', target: this.target, costs: [1], count: 1, isForStore: true }
  }

  /** Notes the answer to a beat. Returns what it shows to be lost. */
  heard({ nowUs, policies, untilUs }: StoreResult): Loss | undefined {
    const number = MOST - (policies[0]?.remaining ?? 0)
    if (nowUs >= this.#untilUs) this.#begin(number)
    this.#untilUs = untilUs[0] as number
    const times = this.#times
    const place = number - this.#first
    let loss: Loss | undefined
    if (place < times.length) {
      loss = { sinceUs: times[place - 1] ?? 0, atUs: nowUs, isSure: true }
      if (place < 0) this.#begin(number)
      else times.length = place
    }
    // Of beats that were not answered in time, only the order is known.
    const lastUs = times.at(-1) ?? nowUs
    while (this.#first + times.length < number) times.push(lastUs)
    times.push(nowUs)
    if (times.length > REMEMBERED) {
      this.#first += times.length - REMEMBERED
      times.splice(0, times.length - REMEMBERED)
    }
    return loss
  }

  /** Begins to remember anew, with a number. */
  #begin(number: number): void {
    this.#times.length = 0
    this.#first = number
  }
}

/** This process's numbers, by their keys: a node that takes over slots has the numbers of the one
 *  before. */
export class Canaries {
  readonly #nodes: Pick<Backend['nodes'], 'keyOn'>
  readonly #time: Pick<Time, 'random'>
  readonly #all: Map<string, Canary> = new Map()
  #beginning: string | undefined

  constructor(nodes: Pick<Backend['nodes'], 'keyOn'>, time: Pick<Time, 'random'>) {
    this.#nodes = nodes
    this.#time = time
  }

  of(node: BackendNode): Canary {
    this.#beginning ??= `beat-${this.#time.random().toString(36).slice(2)}-`
    const key = this.#nodes.keyOn(node, this.#beginning)
    const canary = this.#all.get(key) ?? new Canary(key)
    this.#all.set(key, canary)
    return canary
  }
}
