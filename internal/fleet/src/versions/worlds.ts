// Three worlds on one Redis that get the same requests at the same times: one with only the earlier
// version, one with only the present one, and one that both share. The third shows whether a
// version continues from what the other wrote: it must give the same answers as the others.

import type { Policy, RedisStore } from '@weir/core'
import type { PolicySet, StoreRequest, StoreResult, Target } from '@weir/core/store'
import type { Redis } from 'ioredis'
import type { Ask, AskMode, Step, Walk } from './recipe.js'
import { stateUnder } from './state.js'
import { storeOf, type Version } from './version.js'

/** Clocks count up to 2045. */
const LAST_US = Date.UTC(2044, 0) * 1_000

/** What was granted, as needed to correct it. */
interface Receipt {
  readonly ask: Ask
  readonly costs: readonly number[]
  readonly result: StoreResult
}

/** A step, and the answers of each world to its requests. */
export interface Taken {
  readonly step: Step
  readonly requests: readonly Asked[]
  readonly atUs: number
}

export interface Asked {
  readonly ask: Ask
  /** The store's request, without the target. */
  readonly said: object
  /** As text that can be compared: by the earlier version alone, by the present one alone, by
   *  both. */
  readonly answers: readonly [string, string, string]
}

export const WORLDS = ['earlier', 'present', 'both'] as const

/** A version's part in a walk: its policies, and a store in each of its worlds. */
interface Side {
  readonly policySets: readonly PolicySet[]
  readonly alone: RedisStore
  readonly shared: RedisStore
}

/** Two versions on one Redis. */
export interface Pair {
  readonly versions: readonly [earlier: Version, present: Version]
  readonly client: Redis
  /** The time of all of their stores. */
  readonly clock: { us: number; nowUs(): number }
  /** By the options of walks, the stores of both: each alone, and each in the shared world. */
  readonly stores: Map<object, readonly (readonly [alone: RedisStore, shared: RedisStore])[]>
}

export function pairOf(versions: Pair['versions'], client: Redis): Pair {
  const clock = { us: Date.now() * 1_000, nowUs: () => clock.us }
  return { versions, client, clock, stores: new Map() }
}

export async function closePair({ stores }: Pair): Promise<void> {
  for (const store of [...stores.values()].flat(2)) await store.close()
}

function storesOf({ versions, client, clock, stores }: Pair, options: Walk['options']) {
  const known = stores.get(options)
  if (known !== undefined) return known
  const number = stores.size
  const made = versions.map((version, place) => {
    const inWorld = (world: number) => {
      const prefix = prefixOf(WORLDS[world] as string, number)
      return storeOf(version, client, { ...options, prefix, clock })
    }
    return [inWorld(place), inWorld(2)] as const
  })
  stores.set(options, made)
  return made
}

function prefixOf(world: string, number: number): string {
  return `${world}-${number}`
}

export class Worlds {
  readonly #walk: Walk
  readonly #pair: Pair
  readonly #sides: readonly [Side, Side]
  #receipts: Receipt[] = []
  #last: StoreResult | undefined

  /** @param name of the limiter, which no other walk uses */
  constructor(pair: Pair, walk: Walk, name: string) {
    this.#walk = walk
    this.#pair = pair
    const stores = storesOf(pair, walk.options)
    this.#sides = pair.versions.map(({ core }, place) => {
      const policySets = walk.sets.map((set) => ({
        name,
        policies: set.map((data): Policy => core.policyFrom(data)),
      }))
      const [alone, shared] = stores[place] as (typeof stores)[number]
      return { policySets, alone, shared }
    }) as unknown as [Side, Side]
    pair.clock.us = walk.startMs * 1_000
  }

  async take(step: Step): Promise<Taken> {
    this.#move(step)
    const asked = await Promise.all(step.asks.map((ask) => this.#ask(ask, step.by)))
    await this.#settled()
    for (const { ask, costs, result } of asked) {
      if (result === undefined) continue
      this.#last = result
      if (ask.mode === 'consume' && result.granted > 0) this.#receipts.push({ ask, costs, result })
    }
    this.#receipts = this.#receipts.slice(-20)
    return { step, requests: asked, atUs: this.#pair.clock.us }
  }

  /** Returns what is left in Redis, and deletes it. */
  async left(): Promise<readonly ReadonlyMap<string, string>[]> {
    const { client, stores } = this.#pair
    const number = [...stores.keys()].indexOf(this.#walk.options)
    const compared = this.#walk.isApart ? WORLDS.slice(0, 2) : WORLDS
    const states = await Promise.all(
      compared.map((world) => stateUnder(client, prefixOf(world, number))),
    )
    await client.flushdb()
    return states
  }

  async #ask(ask: Ask, by: 0 | 1) {
    const receipts = this.#receipts.filter(
      ({ ask: { key, set } }) => key === ask.key && set === ask.set,
    )
    const receipt =
      ask.receipt === undefined
        ? undefined
        : receipts.at(-1 - (ask.receipt % (receipts.length || 1)))
    const costs = this.#costsOf(ask, receipt)
    const said = {
      mode: ask.mode,
      costs,
      count: ask.mode === 'refund' ? (receipt?.result.granted ?? ask.count) : ask.count,
      atLeast: ask.atLeast,
      maxWaitMs: ask.maxWaitMs,
      keep: ask.keep,
      untilUs: receipt?.result.untilUs,
      seenUs: receipt?.result.nowUs,
    }
    const isIdle = ask.receipt !== undefined && receipt === undefined && ask.mode !== 'refund'
    const [earlier, present] = this.#sides
    const shared = by === 0 ? earlier : present
    const asking: [Side, RedisStore][] = [
      [earlier, earlier.alone],
      [present, present.alone],
      [shared, shared.shared],
    ]
    const results = isIdle
      ? []
      : await Promise.all(
          asking.map(([side, store]) => answered(store, ask, said, this.#targetOf(side, ask))),
        )
    const answers = WORLDS.map((_, i) => shownOf(results[i], ask.mode)) as [string, string, string]
    const [, result] = results
    return { ask, said, costs, answers, result: result instanceof Error ? undefined : result }
  }

  #targetOf({ policySets }: Side, ask: Ask): Target {
    const policySet = policySets[ask.set] as PolicySet
    const policyKeys = this.#walk.isShared.some((isShared) => isShared)
      ? this.#walk.isShared.map((isShared) => (isShared ? { key: 'all', tag: ask.key } : undefined))
      : undefined
    // The second name is the one in 2d54f0d.
    return Object.assign({ policySet, key: ask.key, policyKeys }, { ownKeys: policyKeys })
  }

  #costsOf({ mode, costs, set }: Ask, receipt: Receipt | undefined): readonly number[] {
    const { policies } = this.#sides[1].policySets[set] as PolicySet
    const units = costs.map((cost, i) => {
      if (mode === 'settle' || cost >= 0) return cost
      return Math.max(0, (policies[i] as Policy).limit + 2 + cost)
    })
    if (receipt === undefined || mode === 'restore' || mode === 'reconcile') return units
    // No more is given back than was taken.
    return units.map((cost, i) => {
      const taken = receipt.costs[i] as number
      return mode === 'settle' ? Math.max(cost, -taken) : Math.min(cost, taken)
    })
  }

  #move({ move: { to, n } }: Step): void {
    const [first] = (this.#sides[1].policySets[0] as PolicySet).policies as [Policy]
    const spanUs = Math.round(first.windowMs * 1_000)
    const waits = this.#last?.policies.map(({ retryAfterMs }) => retryAfterMs) ?? []
    const waitMs = Math.max(0, ...waits.filter(Number.isFinite))
    const resetMs = Math.max(
      0,
      ...(this.#last?.policies.map(({ resetAfterMs }) => resetAfterMs) ?? []),
    )
    const us = {
      stay: 0,
      micros: n,
      millis: n * 1_000,
      part: Math.round((spanUs * n) / 60),
      spans: spanUs * (1 + (n % 3)),
      retry: waitMs * 1_000,
      almost: Math.max(0, waitMs - 1) * 1_000,
      reset: resetMs * 1_000,
      back: -n * 1_000,
    }[to]
    if (this.#pair.clock.us + us < LAST_US) this.#pair.clock.us += us
  }

  /** Waits until the stores have finished their own calls, which restore what they take to be
   *  lost. */
  async #settled(): Promise<void> {
    const stores = this.#sides.flatMap(({ alone, shared }) => [alone, shared])
    const waits = () =>
      stores.some((store) => store.health().nodes.some(({ inFlight }) => inFlight > 0))
    do await new Promise((resolve) => setImmediate(resolve))
    while (waits())
  }
}

async function answered(
  store: RedisStore,
  ask: Ask,
  said: object,
  target: Target,
): Promise<StoreResult | Error | undefined> {
  try {
    if (ask.mode === 'reset') {
      await store.reset(target)
      return undefined
    }
    return await store.decide({ ...said, target } as StoreRequest)
  } catch (error) {
    return error as Error
  }
}

/** An answer as text. Nobody waits for a restoration, so its wait means nothing. */
function shownOf(result: StoreResult | Error | undefined, mode: AskMode): string {
  if (result === undefined) return ''
  // The texts of messages may change.
  if (result instanceof Error) return (result as { code?: string }).code ?? result.message
  const { granted, untilUs, policies, nowUs } = result
  const each = policies.map(({ limit, cost, remaining, retryAfterMs, resetAfterMs, block }, i) => {
    const until = granted > 0 ? `, counts for ${(untilUs[i] as number) - nowUs} us` : ''
    const left = `${cost} of ${limit}: ${remaining} left`
    const wait = mode === 'restore' ? '' : `, wait ${retryAfterMs} ms`
    const blocked = block === undefined ? '' : `, ${JSON.stringify(block)}`
    return `${left}${wait}, reset ${resetAfterMs} ms${until}${blocked}`
  })
  return [`granted ${granted}`, ...each].join('; ')
}
