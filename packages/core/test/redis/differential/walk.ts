// Takes a walk through the model, by a recipe, and checks the contract on the way. The result is a
// list of calls with the replies that every other implementation has to give.

import { strict as assert } from 'node:assert'
import { seenUnits } from '../../../src/algorithms/block-code.js'
import type { Mode } from '../../../src/algorithms/modes.js'
import { EPOCH_MS } from '../../../src/base/clock.js'
import { checkBackwards, checkProbes, checkStep, isExcess, isHint, resetUsOf } from './contract.js'
import { kernels, Model, type Reply, type Request, stateOf } from './model.js'
import type { Cost, DrawnPolicy, GroupRecipe, Move, StepRecipe, WalkRecipe } from './recipe.js'

/** One call of the driver: requests with one version and mode, at one time. */
export interface Call {
  readonly nowUs: number
  readonly version: number
  readonly mode: Mode
  readonly requests: readonly Request[]
  readonly expected: readonly Reply[]
  /** The states that were written, by `stateOf`. If there are none, nothing may be written. */
  readonly written: readonly string[]
  /** Whether it is a peek for the contract, which is not counted as a step. */
  readonly probe: boolean
}

export interface Walk {
  readonly versions: readonly (readonly DrawnPolicy[])[]
  readonly calls: Call[]
  steps: number
  denials: number
  /** Steps exactly when a wait is over, or 1 ms before. */
  onTheDot: number
  wentBack: boolean
}

const FIRST_US = EPOCH_MS * 1_000
/** 2044: a full reset later must be before 2045, when the bucket is no longer exact. */
const LAST_US = FIRST_US + 19 * 365 * 86_400_000_000
const MOST = [2 ** 50, 2 ** 50 - 1, Number.MAX_SAFE_INTEGER]
export const KEYS: readonly string[] = ['one', 'two']

export function takeWalk(recipe: WalkRecipe): Walk {
  const walker = new Walker(recipe)
  for (const step of recipe.steps) walker.follow(step)
  return walker.walk
}

interface Denial {
  readonly request: Request
  readonly nowUs: number
  readonly waitMs: number
}

export class Walker {
  readonly walk: Walk
  readonly model: Model
  nowUs: number
  #denial: Denial | undefined
  #resetUs = 0
  readonly #receipts: Request[] = []
  /** When a state was last written. */
  readonly #writtenUs: Map<string, number> = new Map()

  constructor({ versions, startUs }: WalkRecipe) {
    this.walk = { versions, calls: [], steps: 0, denials: 0, onTheDot: 0, wentBack: false }
    this.model = new Model(versions)
    this.nowUs = startUs
  }

  follow(recipe: StepRecipe): void {
    const version = recipe.version % this.walk.versions.length
    this.#move(recipe.move)
    for (let i = 0; i < recipe.repeat; i += 1) {
      if (i > 0) this.#move({ to: 'bit', n: i % 3 })
      const requests = this.#requests(recipe, version)
      if (requests.length === 1) this.#judged(requests[0] as Request, recipe.probe)
      else this.#step(requests)
    }
  }

  /** Asks the model, and records the call for the others. */
  ask(requests: readonly Request[], nowUs: number, probe: boolean): readonly Reply[] {
    const [{ version, mode }] = requests as [Request]
    const before = this.model.writes.length
    const expected = requests.map((request) => this.model.decide(request, nowUs))
    const written = this.model.writes.slice(before)
    for (const state of written) this.#writtenUs.set(state, nowUs)
    this.walk.calls.push({ nowUs, version, mode, requests, expected, written, probe })
    return expected
  }

  peek(request: Pick<Request, 'version' | 'key' | 'costs'>, nowUs: number): Reply {
    const { version, key, costs } = request
    const [reply] = this.ask([{ version, mode: 'peek', key, costs, count: 1 }], nowUs, true)
    return reply as Reply
  }

  #step(requests: readonly Request[]): readonly Reply[] {
    const replies = this.ask(requests, this.nowUs, false)
    this.#denial = undefined
    requests.forEach((request, i) => {
      const { granted, readings } = replies[i] as Reply
      this.walk.steps += 1
      if (granted < request.count) this.walk.denials += 1
      this.#resetUs = Math.max(...readings.map(({ resetUs }) => resetUs))
      if ((request.mode === 'consume' || request.mode === 'renew') && granted > 0) {
        const { version, key } = request
        const policies = this.walk.versions[version] as readonly DrawnPolicy[]
        const untilUs = readings.map((each, i) => this.nowUs + resetUsOf(each, policies[i]))
        const costs = request.costs.map((cost) => cost * granted)
        const receipt = { version, key, costs: request.count === 1 ? costs : request.costs }
        this.#receipts.push({ ...receipt, mode: 'refund', count: 1, untilUs, seenUs: this.nowUs })
      }
    })
    return replies
  }

  /** A step of one group, with all checks of the contract. */
  #judged(request: Request, probe: boolean): Reply {
    const { nowUs } = this
    const before = this.model.decide({ ...request, mode: 'peek' }, nowUs)
    const policies = this.walk.versions[request.version] as readonly DrawnPolicy[]
    const mayHeal = policies.map((_, i) => this.#mayHeal(stateOf(request.key, i)))
    const writes = this.model.writes.length
    const [reply] = this.#step([request]) as [Reply]
    const wrote = this.model.writes.length > writes
    const step = { request, policies, before, reply, wrote, mayHeal }
    checkStep(step)
    this.#remember(request, reply)
    if (probe && nowUs < LAST_US) checkProbes(this, step)
    return reply
  }

  #mayHeal(state: string): boolean {
    const lastUs = this.#writtenUs.get(state)
    return lastUs !== undefined && this.nowUs < lastUs
  }

  #remember(request: Request, { granted, readings }: Reply): void {
    // For kept units, the wait is until as many pass as are kept.
    if (request.mode !== 'consume' || granted === request.count || request.aheadMs) return
    const { atLeast = 1 } = request
    const times = granted === 0 ? atLeast : 1
    const denying = readings.filter(({ left }, i) => left < times * (request.costs[i] as number))
    if (denying.some(({ waitMs }) => waitMs < 0)) return
    const policies = this.walk.versions[request.version] as readonly DrawnPolicy[]
    if (readings.some((each, i) => denying.includes(each) && isHint(each, policies[i]))) return
    const waitMs = Math.max(...denying.map((reading) => reading.waitMs))
    assert.ok(waitMs > 0, 'denied, and yet no wait')
    // The wait is until the request would pass at once.
    const again = { ...request, count: times, maxWaitMs: undefined, aheadMs: undefined }
    if (granted > 0 && atLeast > 1) return
    this.#denial = { request: again, nowUs: this.nowUs, waitMs }
  }

  #move({ to, n }: Move): void {
    const [{ windowMs }] = this.walk.versions[0] as readonly [DrawnPolicy]
    const windowUs = Math.floor(windowMs * 1_000)
    if (to === 'retry') this.#retry()
    else if (to === 'micros') this.#go(this.nowUs + 83 * n)
    else if (to === 'millis') this.#go(this.nowUs + 1_000 * n)
    else if (to === 'bit') this.#go(this.nowUs + Math.floor((windowUs * n) / 40))
    else if (to === 'part') this.#go(this.nowUs + Math.floor((windowUs * n) / 12))
    else if (to === 'spans') this.#go(this.nowUs + windowUs * n)
    else if (to === 'reset') this.#go(this.nowUs + this.#resetUs + 1_000 * (n - 1))
    else if (to === 'backPart') this.#go(this.nowUs - Math.floor((windowUs * n) / 8))
    else if (to === 'backSpans') this.#go(this.nowUs - windowUs * n)
  }

  #go(nowUs: number): void {
    if (nowUs < FIRST_US || nowUs > LAST_US) return
    if (nowUs < this.nowUs) {
      this.walk.wentBack = true
      for (const key of KEYS) checkBackwards(this, key, nowUs)
    }
    this.nowUs = nowUs
  }

  /** (b) 1 ms before the wait is over the request is still denied, and then it passes. */
  #retry(): void {
    if (this.#denial === undefined) return
    const { request, nowUs, waitMs } = this.#denial
    const passUs = nowUs + waitMs * 1_000
    if (nowUs !== this.nowUs || passUs > LAST_US) return
    this.nowUs = passUs - 1_000
    // A refusal at the excess may begin a block, which is then the only reason to refuse.
    const policies = this.walk.versions[request.version] as readonly DrawnPolicy[]
    const early = policies.some(isExcess) ? ({ ...request, mode: 'peek' } as const) : request
    assert.equal(this.#judged(early, false).granted, 0, '(b) passed before the wait was over')
    this.nowUs = passUs
    const { granted } = this.#judged(request, false)
    assert.equal(granted, request.count, '(b) denied when the wait was over')
    this.walk.onTheDot += 2
  }

  #requests(recipe: StepRecipe, version: number): readonly Request[] {
    const { groups, mode, byReceipt, until } = recipe
    const { versions } = this.walk
    const settled = (costs: readonly number[]) => {
      // Policies without slots have none to release or renew.
      const isOfSlots = mode === 'release' || mode === 'renew'
      const isHeld = (i: number) => kernels[versions[0]?.[i]?.kernel as string]?.traits.isHeld
      if (isOfSlots) return costs.map((cost, i) => (isHeld(i) ? cost : 0))
      if (mode !== 'settle') return costs
      return costs.map((cost, i) => SETTLED[(until + i + 2) % 4]?.(cost) ?? 0)
    }
    const bounded = BOUNDED.includes(mode)
    if (bounded && byReceipt && this.#receipts.length > 0) {
      // From anywhere in the list: receipts may be old, and from other numbers.
      const place = (this.walk.steps * 7) % this.#receipts.length
      return this.#receipts.splice(place, 1).map((receipt) => {
        const charged = mode === 'settle' ? receipt.costs : undefined
        return { ...receipt, mode, costs: settled(receipt.costs), charged }
      })
    }
    const requests = groups.map((group) => this.#request(group, recipe, version))
    if (!bounded || mode === 'refund') return requests
    const untilUs = (this.walk.versions[version] as readonly DrawnPolicy[]).map(({ windowMs }) => {
      return this.nowUs + Math.floor((windowMs * 1_000 * until) / 8)
    })
    const costsOf = (costs: readonly number[]) =>
      mode === 'restore'
        ? costs.map((cost, i) => this.#seen(version, i, cost, until))
        : settled(costs)
    // Units that were lost before an earlier restore, or since.
    const lossUs = mode === 'restore' && until % 2 !== 0 ? this.nowUs - until * 1_000 : undefined
    return requests.map((request) => {
      return {
        ...request,
        count: 1,
        untilUs,
        seenUs: lossUs,
        lossUs,
        costs: costsOf(request.costs),
      }
    })
  }

  /** For a lock-out, units that were seen with some state of a block. */
  #seen(version: number, place: number, units: number, until: number): number {
    const { kernel = '' } = this.walk.versions[version]?.[place] ?? {}
    if (!kernels[kernel]?.traits.blocks || units > 2 ** 30) return units
    const block = { level: Math.abs(until) % 4, isBlocked: until % 2 !== 0, hasBegun: false }
    return seenUnits(units, block)
  }

  #request(
    { key: place, costs, count }: GroupRecipe,
    { mode, limits }: StepRecipe,
    version: number,
  ): Request {
    const policies = this.walk.versions[version] as readonly DrawnPolicy[]
    const key = KEYS[place] as string
    const nothing = policies.map(() => 0)
    const { readings } = this.model.decide(
      { version, mode: 'peek', key, costs: nothing, count: 1 },
      this.nowUs,
    )
    const units = policies.map(({ limit }, i) => {
      const left = readings[i]?.left as number
      return unitsOf(costs[i] ?? (costs[0] as Cost), limit, left)
    })
    // Sums of huge charges are rounded, so single ones would differ from merged ones.
    const huge = units.some((amount) => amount > 2 ** 40)
    // A repeated block would be longer than a single one.
    const isOne = huge || mode === 'block'
    const request = { version, mode, key, costs: units, count: isOne ? 1 : count }
    if (limits === undefined) return request
    const [{ windowMs }] = policies as readonly [DrawnPolicy]
    const { atLeast, wait, keep } = limits
    const shortestMs = Math.min(...policies.map((policy) => policy.windowMs))
    const ahead = mode === 'consume' ? limits.ahead : undefined
    return {
      ...request,
      atLeast: Math.min(atLeast, request.count),
      maxWaitMs:
        wait === undefined || ahead !== undefined ? undefined : Math.floor((windowMs * wait) / 8),
      aheadMs: ahead === undefined ? undefined : Math.floor((shortestMs * ahead) / 50),
      keep: policies.map(({ limit }, i) => {
        return Math.min(limit, unitsOf(keep, limit, readings[i]?.left as number))
      }),
    }
  }
}

/** Modes that say until when their corrections count. */
const BOUNDED: readonly Mode[] = [
  'refund',
  'cancel',
  'settle',
  'reconcile',
  'restore',
  'release',
  'renew',
]

/** What a settlement does to a cost: charges it again, or gives back all or half of it. */
const SETTLED: readonly ((cost: number) => number)[] = [
  (cost) => 0 - cost,
  (cost) => cost,
  (cost) => 0 - Math.ceil(cost / 2),
  () => 0,
]

function unitsOf({ of, n }: Cost, limit: number, left: number): number {
  if (of === 'one') return 1
  if (of === 'units') return n
  if (of === 'most') return MOST[n] as number
  return Math.max(0, (of === 'left' ? left : limit) + n - 1)
}
