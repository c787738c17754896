// What is known of budgets that hold estimates while a story runs: when each estimate was granted,
// settled and expires, as far as its process can know. From that follows what a budget counts while
// a call is under way, at the least and at the most.

import { Counter, type CounterOptions } from './counter.js'
import { DEADLINE_MS, type Member } from './member.js'
import type { Plan } from './plan.js'

/** Expiries are rounded up by a sixtieth of the time to hold. */
const PARTS = 60
/** A hold is renewed after a third of its time, so half of it is left, at the least. */
const LEFT_OF_RENEWED = 0.5
/** How often a renewal is repeated, at the most. */
const RENEWALS = 20
/** How long after its process ends a renewal may still arrive. */
const ON_ITS_WAY_US = 1_000_000
/** How long after a denial what one slot had granted may still be held. */
const GIVEN_BACK_US = 1_000 * DEADLINE_MS

/** When a call is under way, in true time and by the clock of Redis. A moment is a call that ends
 *  as it begins. */
export interface Call {
  readonly beganUs: number
  endedUs: number
  fromUs: number
  toUs: number
}

interface Settled {
  readonly call: Call
  readonly actual: number
  /** It may have got no answer, so it is repeated. */
  readonly mayBeOwed: boolean
  /** By Redis's clock, when it had been made at the latest. */
  doneUs: number
}

export interface Estimate {
  readonly member: Member
  readonly units: number
  readonly asked: Call
  /** Redis holds it; it was admitted without Redis; the one or the other in each of its budgets; it
   *  was denied; or nobody knows. A penalty is spent at once. */
  state: 'asked' | 'held' | 'local' | 'in parts' | 'denied' | 'penalty'
  /** By Redis's clock, when it expires. */
  soonestUs: number
  latestUs: number
  /** It had expired before the clock of Redis stepped, so a settlement may change nothing. */
  hasExpired: boolean
  /** It was renewed. */
  isStream: boolean
  /** The breaker of its process was open when it was asked for. */
  readonly wasAway: boolean
  settled: Settled | undefined
}

export interface Counted {
  readonly least: number
  readonly most: number
  /** The part of the least that a decision allowed: not what was used beyond estimates. */
  readonly judged: number
}

/** A budget for a key. */
export class Budget extends Counter {
  readonly estimates: Estimate[] = []
  readonly #budgets: Budgets

  constructor(options: CounterOptions, budgets: Budgets) {
    super(options)
    this.#budgets = budgets
  }

  /** Whether Redis has forgotten some of it. */
  get hasLost(): boolean {
    return this.#budgets.haveLost || this.story.losses.length > 0
  }

  /** Whether every process has always reached Redis, which has forgotten nothing. */
  get isSure(): boolean {
    const { unseen, stopped, started } = this.story
    const isWell = started === 0 && !stopped.includes(true)
    return isWell && !this.hasLost && unseen.every((units) => units === undefined)
  }

  override lose(some: readonly number[], nowUs: number): void {
    this.update()
    super.lose(some, nowUs)
  }

  override stop(nowUs: number): void {
    this.update()
    super.stop(nowUs)
  }

  override forget(nowUs: number): void {
    this.update()
    super.forget(nowUs)
  }

  /** What passed is what counts now. */
  update(): void {
    const { judged, most } = this.countedIn(this.#budgets.now())
    this.passed = judged
    this.charged = most - judged
  }

  /** What it counts while a call is under way, without the estimate of that call. */
  countedIn(call: Call): Counted {
    const all = { least: 0, most: 0, judged: 0 }
    for (const estimate of this.estimates) {
      if (estimate.asked === call) continue
      const { least, most, judged } = this.#budgets.countedOf(estimate, call, this.estimates)
      all.least += least
      all.most += most
      all.judged += judged
    }
    return all
  }
}

/** All budgets of a story. */
export class Budgets {
  /** For each key, the budgets that its estimates count in. */
  readonly ofKey: ReadonlyMap<string, readonly Budget[]>
  readonly counters: readonly Budget[]
  /** When all that went wrong is over, and what nobody knows of has expired. */
  calmUs: number = Number.POSITIVE_INFINITY
  /** Redis has gone back to older data, though perhaps not of all budgets. */
  haveLost: boolean = false
  readonly #holdMs: number
  readonly #partMs: number
  readonly #areAcrossSlots: boolean
  readonly #clock: () => Pick<Call, 'beganUs' | 'fromUs'>
  readonly #calls: Set<Call> = new Set()
  /** The latest time of Redis's clock before it stepped. */
  #highestUs = 0
  /** Estimates that are renewed; and those of them whose renewals come in time. */
  readonly #streams: Map<Estimate, () => unknown> = new Map()
  readonly #steady: Set<Estimate> = new Set()

  /** @param clock the true time, and that of Redis */
  constructor(
    uses: NonNullable<Plan['budgetUses']>,
    given: Pick<CounterOptions, 'members' | 'options' | 'plan'>,
    clock: () => Pick<Call, 'beganUs' | 'fromUs'>,
  ) {
    this.#clock = clock
    this.#holdMs = given.options.budgetMs
    this.#partMs = Math.ceil(this.#holdMs / PARTS)
    this.#areAcrossSlots = given.plan.areBudgetsAcrossSlots
    const keys = given.plan.keys.map((key) => key.replace('user', 'spender'))
    const of = (who: string, place: number, all: readonly string[]): Budget => {
      const policy = uses[place]?.policy as CounterOptions['policy']
      return new Budget({ ...given, who, policy, place, keys: all, leased: 0 }, this)
    }
    const ofAll = uses.map(({ key }, place) => (key === undefined ? key : of(key, place, keys)))
    this.ofKey = new Map(
      keys.map((key) => [key, uses.map((_, i) => ofAll[i] ?? of(key, i, [key]))]),
    )
    this.counters = [...new Set([...this.ofKey.values()].flat())]
  }

  /** This moment. */
  now(): Call {
    const { beganUs, fromUs } = this.#clock()
    return { beganUs, endedUs: beganUs, fromUs, toUs: fromUs }
  }

  begin(): Call {
    const call = { ...this.now(), endedUs: Number.POSITIVE_INFINITY }
    this.#calls.add(call)
    return call
  }

  end(call: Call): void {
    this.#calls.delete(call)
    const { endedUs, fromUs } = this.now()
    call.endedUs = endedUs
    call.toUs = Math.max(call.toUs, fromUs)
    call.fromUs = Math.min(call.fromUs, fromUs)
  }

  /** The clock of Redis steps: call before and afterwards. */
  stepped(): void {
    const { fromUs } = this.#clock()
    this.#steady.clear()
    this.#highestUs = Math.max(this.#highestUs, fromUs)
    // What has expired does not count again, or perhaps does, when the clock steps back.
    for (const { estimates } of this.counters)
      for (const each of estimates)
        if (each.soonestUs <= fromUs || each.state === 'asked') {
          each.soonestUs = Number.NEGATIVE_INFINITY
          each.hasExpired = each.state === 'held'
        }
    // A renewal by an earlier time ends earlier.
    for (const each of this.#streams.keys()) each.soonestUs = Number.NEGATIVE_INFINITY
    for (const call of this.#calls) {
      call.fromUs = Math.min(call.fromUs, fromUs)
      call.toUs = Math.max(call.toUs, fromUs)
    }
  }

  ask(key: string, member: Member, units: number, state: 'asked' | 'penalty'): Estimate {
    const asked = this.begin()
    const times = { soonestUs: this.#expiryOf(asked.fromUs), latestUs: Number.POSITIVE_INFINITY }
    const wasAway = member.store.health().state !== 'closed'
    const more = { hasExpired: false, isStream: false, wasAway, settled: undefined }
    const estimate: Estimate = { member, units, asked, state, ...times, ...more }
    for (const budget of this.ofKey.get(key) ?? []) budget.estimates.push(estimate)
    return estimate
  }

  /** Redis holds an estimate until it expires. */
  held(estimate: Estimate): void {
    estimate.state = 'held'
    estimate.soonestUs = this.#expiryOf(estimate.asked.fromUs)
    estimate.latestUs = this.#expiryOf(estimate.asked.toUs)
  }

  /** An estimate was decided without Redis, which may hold all the same what was denied here. */
  decidedHere(estimate: Estimate, isAllowed: boolean): void {
    if (!isAllowed) return
    estimate.state = this.#areAcrossSlots ? 'in parts' : 'local'
  }

  /** Redis has denied an estimate. What one slot of a Cluster had granted, it was to give back. */
  denied(estimate: Estimate): void {
    estimate.state = 'denied'
    estimate.latestUs = this.#expiryOf(estimate.asked.toUs)
  }

  /** A held estimate is renewed from now on. */
  renews(estimate: Estimate, release: () => unknown): void {
    this.#streams.set(estimate, release)
    this.#steady.add(estimate)
    estimate.isStream = true
    estimate.latestUs = Number.POSITIVE_INFINITY
  }

  renewsStill(estimate: Estimate): boolean {
    return this.#streams.has(estimate)
  }

  #isRenewed(estimate: Estimate): boolean {
    return this.#steady.has(estimate) && !this.hasBeenAway(estimate.member)
  }

  /** Its process no longer renews it. */
  leaves(estimate: Estimate): void {
    if (!this.#streams.delete(estimate)) return
    const nowUs = this.#clock().fromUs
    if (this.#isRenewed(estimate))
      estimate.soonestUs = Math.max(
        estimate.soonestUs,
        nowUs + 1_000 * LEFT_OF_RENEWED * this.#holdMs,
      )
    this.#steady.delete(estimate)
    const isCalm = this.calmUs < Number.POSITIVE_INFINITY
    estimate.latestUs =
      this.hasBeenAway(estimate.member) && !isCalm
        ? Number.POSITIVE_INFINITY
        : this.#expiryOf(Math.max(nowUs, this.#highestUs) + ON_ITS_WAY_US)
  }

  settles(estimate: Estimate, call: Call, actual: number, mayBeOwed: boolean): void {
    estimate.settled = { call, actual, mayBeOwed, doneUs: Number.POSITIVE_INFINITY }
  }

  /** Redis has heard all that a process owed it. */
  heardAll(member: Member): void {
    const { fromUs } = this.#clock()
    for (const { estimates } of this.counters)
      for (const { member: own, settled } of estimates)
        if (
          own === member &&
          settled !== undefined &&
          settled.call.endedUs < Number.POSITIVE_INFINITY
        )
          settled.doneUs = Math.min(settled.doneUs, fromUs)
  }

  /** A process dies. */
  die(member: Member): void {
    for (const each of this.#streams.keys()) if (each.member === member) this.leaves(each)
  }

  /** A process leaves what it holds before it ends. */
  leave(member: Member): void {
    for (const [each, release] of this.#streams) if (each.member === member) void release()
    this.die(member)
  }

  /** All is well from now on. */
  calm(): void {
    this.calmUs = this.#expiryOf(this.#clock().fromUs + ON_ITS_WAY_US)
  }

  #expiryOf(us: number): number {
    const ms = Math.floor(us / 1_000) + this.#holdMs
    return 1_000 * Math.ceil(ms / this.#partMs) * this.#partMs
  }

  /** What a process that was away has sent may arrive until all is well. */
  #latestUs(estimate: Estimate): number {
    const { latestUs } = estimate
    const isUnknown = latestUs === Number.POSITIVE_INFINITY && !this.#streams.has(estimate)
    if (!isUnknown) return latestUs
    return Math.max(this.calmUs, this.#expiryOf(estimate.asked.toUs + ON_ITS_WAY_US))
  }

  /** What an estimate counts for while a call is under way, among all of its budget. */
  countedOf(estimate: Estimate, call: Call, all: readonly Estimate[]): Counted {
    const { units, asked, state, settled, member } = estimate
    if (asked.beganUs > call.endedUs) return NOTHING
    const isDone = asked.endedUs <= call.beganUs
    if (state === 'denied') {
      const isOnItsWay = asked.endedUs + GIVEN_BACK_US > call.beganUs
      const isHeld = this.#areAcrossSlots && (isOnItsWay || this.hasBeenAway(member))
      return { ...NOTHING, most: isHeld && call.fromUs < estimate.latestUs ? units : 0 }
    }
    if (state === 'penalty') {
      const isLost = this.hasBeenAway(member)
      const least = isDone && !isLost ? units : 0
      return { least, most: isLost ? 2 * units : units, judged: 0 }
    }
    const isGone = call.fromUs >= this.#latestUs(estimate)
    // A renewal that gets no answer is repeated, and each may hold the units until it expires.
    const times = estimate.isStream && this.hasBeenAway(member) ? RENEWALS : 1
    const held = isGone ? 0 : times * units
    const { actual = 0, mayBeOwed = false, doneUs = 0 } = settled ?? {}
    const spent = estimate.hasExpired ? 0 : actual
    const more = Math.max(0, actual - units)
    const isThere = isDone && (this.#isRenewed(estimate) || call.toUs < estimate.soonestUs)
    if (state === 'in parts') {
      // What Redis holds of it expires; the rest is spent as soon as Redis hears of it.
      const isHeard = settled !== undefined && doneUs <= call.fromUs
      const part = settled === undefined ? units : Math.min(units, actual)
      const judged = isThere || settled !== undefined ? part : 0
      return { least: isHeard ? spent : 0, most: held + 2 * (units + more), judged }
    }
    if (state !== 'held') {
      if (state === 'asked') return { ...NOTHING, most: held }
      // A refund gives back what was admitted without Redis; a settlement does not.
      const judged = settled === undefined ? units : Math.min(units, actual)
      return { least: 0, most: held + 2 * (units + more), judged: isDone ? judged : 0 }
    }
    const least = isThere ? units : 0
    if (settled === undefined || settled.call.beganUs > call.endedUs)
      return { least, most: held, judged: least }
    const { call: settling } = settled
    const part = Math.min(units, actual)
    // A settlement in time that is made twice takes the units of another estimate that expires with
    // it, if there is one, and that one then has less to give back.
    if (mayBeOwed && doneUs < Math.min(estimate.soonestUs, call.fromUs) && !estimate.isStream) {
      const isShared = all.some(
        (other) => other !== estimate && mayShareRun(other, estimate, settling),
      )
      return { least: actual, most: isShared ? 2 * actual : actual, judged: part }
    }
    if (mayBeOwed) {
      const least = doneUs <= call.fromUs ? spent : 0
      return { least, most: held + 2 * actual, judged: isThere ? part : 0 }
    }
    if (settling.endedUs <= call.beganUs) {
      const isInTime = settling.toUs < estimate.soonestUs
      // Redis keeps what has expired until it writes, so a step back may let it count again.
      const again = times > 1 || estimate.hasExpired ? held : 0
      return { least: spent, most: actual + again, judged: isInTime ? part : 0 }
    }
    return {
      least: Math.min(least, spent),
      most: Math.max(held, actual),
      judged: isThere ? part : 0,
    }
  }

  /** Whether a process has lost Redis. */
  hasBeenAway({ rank }: Member): boolean {
    return this.counters.some((counter) => counter.mayBeLocal(rank))
  }
}

/** Whether two estimates may expire together, so that Redis does not tell them apart, and the one
 *  may still be held when the other is settled. */
function mayShareRun(one: Estimate, other: Estimate, settling: Call): boolean {
  const { state, settled, units } = one
  const isHeld = units > 0 && state !== 'denied' && state !== 'penalty'
  const isOver = settled?.mayBeOwed === false && settled.call.endedUs < settling.beganUs
  return isHeld && !isOver && one.soonestUs <= other.latestUs && other.soonestUs <= one.latestUs
}

const NOTHING: Counted = Object.freeze({ least: 0, most: 0, judged: 0 })
