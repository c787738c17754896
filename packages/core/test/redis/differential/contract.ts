// The contract of every kernel (its letters (a) to (k)), for one step of a walk.

import { strict as assert } from 'node:assert'
import type { Traits } from '../../../src/algorithms/algorithm.js'
import { withoutBlock } from '../../../src/algorithms/block-code.js'
import type { BucketNumbers } from '../../../src/algorithms/bucket/kernel.js'
import { twoWindows } from '../../../src/algorithms/description.js'
import type { Reading } from '../../../src/algorithms/driver.js'
import type { Mode } from '../../../src/algorithms/modes.js'
import { algorithms } from '../../../src/testing/algorithms.js'
import { kernels, type Reply, type Request } from './model.js'
import type { DrawnPolicy } from './recipe.js'
import type { Walker } from './walk.js'

export interface Step {
  readonly request: Request
  readonly policies: readonly DrawnPolicy[]
  /** The result of a peek just before. */
  readonly before: Reply
  readonly reply: Reply
  readonly wrote: boolean
  /** For each policy, whether the clock has gone back since its state was written, so that the
   *  state may be stamped again. */
  readonly mayHeal: readonly boolean[]
}

export function checkStep(step: Step): void {
  const { request, policies, before, reply, wrote, mayHeal } = step
  const { mode, costs, count } = request
  const isTaken = mode === 'consume' || mode === 'penalty' || mode === 'reconcile'
  const lefts = leftsOf(reply)
  lefts.forEach((left, i) => {
    assert.ok(
      Number.isInteger(left) && left >= 0 && left <= limitOf(policies, i),
      `left is ${left}`,
    )
  })
  reply.readings.forEach(({ resetUs }, i) => {
    assert.ok(
      resetUs <= Math.ceil(longestUs(policies[i] as DrawnPolicy)),
      '(h) blocked for more than two full resets, or one and the wait',
    )
  })
  if (mode === 'consume' && request.atLeast !== undefined) checkLimited(step)
  else if (mode === 'consume') checkConsume(step)
  else if (mode === 'peek') assert.ok(!wrote, '(c) a peek wrote')
  else if (mode === 'restore' || mode === 'renew')
    assert.equal(reply.granted, wrote ? 1 : 0, `a ${mode} says whether it changed anything`)
  else assert.equal(reply.granted, count, `a ${mode} always happens`)
  // A kernel that settles by itself turns what was held into what was spent.
  const settles = policies.map(({ kernel }) => {
    return request.charged !== undefined && kernels[kernel]?.settle !== undefined
  })
  lefts.forEach((left, i) => {
    const cost = costs[i] as number
    if (settles[i]) return
    const gives = GIVING.includes(mode) || (mode === 'settle' && cost < 0)
    if (gives) assert.ok(left >= leftOf(before, i), `a ${mode} took`)
    if (isTaken || (mode === 'settle' && cost >= 0))
      assert.ok(left <= leftOf(before, i), `a ${mode} gave`)
  })
  if (costs.every((cost, i) => cost === 0 && !settles[i])) assert.ok(!wrote, '(c) cost 0 wrote')
  const mayWrite = mayHeal.includes(true) || policies.some(isExcess)
  if (reply.granted === 0) assert.ok(!wrote || mayWrite, '(a) a denial wrote')
}

function traitsOf(policy: DrawnPolicy | undefined): Traits | undefined {
  return policy && kernels[policy.kernel]?.traits
}

const GIVING: readonly Mode[] = ['refund', 'cancel', 'release']

/** Whether a refusal may begin a block. */
export function isExcess({ kernel, numbers }: DrawnPolicy): boolean {
  return kernels[kernel]?.traits.blocks === true && numbers[3] === 1
}

/** Whether the wait only says when to ask again: for slots, a second; a shorter wait is exact. */
export function isHint({ waitMs }: Reading, policy: DrawnPolicy | undefined): boolean {
  return traitsOf(policy)?.isHint === true && waitMs >= 1_000
}

/** The reset of a reading, without what a lock-out adds to it. */
export function resetUsOf({ resetUs }: Reading, policy: DrawnPolicy | undefined): number {
  return traitsOf(policy)?.blocks ? withoutBlock(resetUs) : resetUs
}

/** The reply to a request that begins no block. */
export function withoutBegun(reply: Reply, policies: readonly DrawnPolicy[]): Reply {
  const readings = reply.readings.map((reading, i) => {
    if (!traitsOf(policies[i])?.blocks) return reading
    return { ...reading, resetUs: reading.resetUs - (reading.resetUs % 2) }
  })
  return { ...reply, readings }
}

function checkConsume({ request, policies, before, reply }: Step): void {
  const { costs, count } = request
  const { granted, readings } = reply
  assert.equal(before.granted, granted > 0 ? count : 0, '(c) a peek and a consume disagree')
  costs.forEach((cost, i) => {
    const left = leftOf(before, i)
    assert.equal(
      leftOf(reply, i),
      left - granted * cost,
      '(a, i) taken is what was granted, of every policy',
    )
  })
  if (granted < count) {
    assert.ok(
      costs.some((cost, i) => leftOf(reply, i) < cost),
      'denied, though the next request fits all policies',
    )
  }
  const never = costs.some((cost, i) => cost > limitOf(policies, i))
  assert.equal(never && granted > 0, false, '(j) granted what can never pass')
  if (granted < count) {
    const waits = readings
      .filter((_, i) => leftOf(reply, i) < (costs[i] as number))
      .map(({ waitMs }) => waitMs)
    const mayLast = policies.some((policy) => traitsOf(policy)?.isLasting)
    if (never || !mayLast) assert.equal(waits.includes(-1), never, '(j) never, and only then')
  }
}

/** For requests with a minimum count, a longest wait, or units that must remain. */
function checkLimited({ request, policies, before, reply }: Step): void {
  const { costs, count, atLeast = 1, maxWaitMs, keep } = request
  const { granted } = reply
  assert.equal(before.granted, granted, '(c) a peek and a consume disagree')
  assert.ok(granted === 0 || (granted >= atLeast && granted <= count), 'granted fewer than it may')
  const mayReserve = maxWaitMs !== undefined && policies.length === 1
  costs.forEach((cost, i) => {
    const left = leftOf(before, i) - granted * cost
    if (!mayReserve || left >= 0) assert.equal(leftOf(reply, i), left, '(a, i) taken as granted')
    else assert.equal(leftOf(reply, i), 0, 'something is left behind a reservation')
    const never = cost > 0 && cost + (keep?.[i] as number) > limitOf(policies, i)
    assert.equal(never && granted > 0, false, '(j) granted what can never pass')
  })
  const fits = (times: number) => costs.every((cost, i) => leftOf(before, i) >= times * cost)
  // A lease that is refused reports what there is without it.
  if (request.aheadMs !== undefined && granted === 0) return
  assert.ok(granted > 0 || !fits(atLeast), 'denied, though it fits')
  assert.ok(granted === count || !fits(granted + 1) || granted + 1 < atLeast, 'granted too few')
  if (!mayReserve || granted === 0) return
  const resetUs = reply.readings[0]?.resetUs as number
  const [{ kernel, numbers }] = policies as readonly [DrawnPolicy]
  if (!kernels[kernel]?.traits.drains) return
  const turnUs = resetUs - spanOf(numbers) / 8
  const price = spanOf(numbers) / Math.max(1, numbers[0] as number)
  const keptUs = (costs[0] === 0 ? 0 : (keep?.[0] as number)) * (price / 8)
  const most = Math.min(maxWaitMs * 1_000, (numbers[2] as number) / 8)
  if (costs[0] !== 0) assert.ok(turnUs + keptUs <= most + 1, 'a turn later than it would wait')
}

/**
 * (f), (d), and the wait until the next unit; by peeks, which the other implementations also have
 * to answer.
 */
export function checkProbes(walker: Walker, { request, policies, reply, mayHeal }: Step): void {
  const { version, key, mode } = request
  // Units that must remain are not available to it, although they are there.
  if (request.keep?.some((units) => units > 0)) return
  // A peek that is refused reports the block that a consume would begin.
  if (mode === 'peek' && reply.granted === 0 && policies.some(isExcess)) return
  const { nowUs } = walker
  const peek = (costs: readonly number[], atUs: number) =>
    walker.peek({ version, key, costs }, atUs).granted === 1
  const alone = (units: number, place: number) => policies.map((_, i) => (i === place ? units : 0))

  assert.ok(peek(leftsOf(reply), nowUs), '(f) what is left could not be taken')
  reply.readings.forEach((reading, i) => {
    const { left, waitMs } = reading
    const resetUs = resetUsOf(reading, policies[i])
    assert.ok(!peek(alone(left + 1, i), nowUs), '(f) more could be taken than is left')
    // A state that would be stamped again, but was not since nothing was taken, reports the times
    // that will hold then.
    if (mayHeal[i] && (mode === 'peek' || request.costs[i] === 0)) return
    const limit = limitOf(policies, i)
    const isExact = !isHint(reading, policies[i])
    if (left < 1 && reply.granted === request.count && waitMs > 0 && isExact) {
      assert.ok(peek(alone(1, i), nowUs + waitMs * 1_000), '(b) no unit when the wait was over')
      assert.ok(
        !peek(alone(1, i), nowUs + waitMs * 1_000 - 1_000),
        '(b) a unit before the wait was over',
      )
    }
    assert.ok(peek(alone(limit, i), nowUs + resetUs), '(d) not as fresh after the reset')
    // What is held comes back before the key is forgotten.
    const isLasting = traitsOf(policies[i])?.isLasting
    if (resetUs >= 1_000 && limit > 0 && !isLasting) {
      assert.ok(!peek(alone(limit, i), nowUs + resetUs - 1_000), '(d) as fresh before the reset')
    }
  })
}

/** (h) At an earlier time, no more is left. */
export function checkBackwards(walker: Walker, key: string, earlierUs: number): void {
  walker.walk.versions.forEach((policies, version) => {
    const request = { version, key, costs: policies.map(() => 1) }
    const now = walker.peek(request, walker.nowUs)
    const earlier = walker.peek(request, earlierUs)
    policies.forEach((_, i) => {
      assert.ok(leftOf(earlier, i) <= leftOf(now, i), '(h) an earlier now left more')
    })
  })
}

/** The longest time after which a key is as good as new. */
function longestUs(policy: DrawnPolicy): number {
  // A window of the calendar is one of its fixed form.
  const { longestMs = twoWindows } = algorithms[policy.kernel] ?? {}
  return 1_000 * longestMs(policy)
}

/** The price of all units of a bucket, rounded up. */
function spanOf(numbers: DrawnPolicy['numbers']): number {
  const [limit, full] = numbers as BucketNumbers
  return limit > 0 ? limit * Math.ceil(full / limit) : 0
}

function leftsOf({ readings }: Reply): number[] {
  return readings.map(({ left }) => left)
}

function leftOf({ readings }: Reply, place: number): number {
  return readings[place]?.left as number
}

function limitOf(policies: readonly DrawnPolicy[], place: number): number {
  return policies[place]?.limit as number
}
