// What was last seen, and what is made of an answer that shows less.

import { describe, expect, test } from 'vitest'
import { StoreError } from '../src/errors.js'
import { fixedWindow, slidingLog, tokenBucket } from '../src/index.js'
import type { Policy } from '../src/policy.js'
import { type Answer, answerOf, type Group, type Mode, makePlan } from '../src/store.js'
import type { Waiter } from '../src/stores/batches.js'
import { storeEvents } from '../src/stores/events.js'
import { LastSeen } from '../src/stores/last-seen.js'
import { Losses } from '../src/stores/losses.js'

const START_US = 1_750_000_000_000_000
const window = fixedWindow({ limit: 10, window: '1m' })

function groupOf(policy: Policy, mode: Mode, cost = 1): Group {
  return { plan: makePlan('test', [policy]), key: 'k', mode, costs: [cost] }
}

/** An answer after `ms`, with so much left and so long until all is over. */
function answer(group: Group, ms: number, left: number, resetMs: number): Answer {
  const readings = [{ left, waitMs: 0, resetUs: resetMs * 1_000 }]
  return answerOf(group, true, START_US + ms * 1_000, readings)
}

describe('what Redis says when something was settled', () => {
  function remembered(policy: Policy, ...answers: [Mode, number, number, number, number][]) {
    const seen = new LastSeen(1)
    const lost = answers.map(([mode, cost, ms, left, resetMs]) => {
      return seen.note('k', 1, answer(groupOf(policy, mode, cost), ms, left, resetMs), mode) !== undefined
    })
    return { remaining: seen.get('k', 1)?.remaining[0], lost: lost.includes(true) }
  }

  test('is remembered', () => {
    const settled = remembered(window, ['consume', 1, 0, 9, 60_000], ['settle', 3, 100, 6, 59_900])
    expect(settled).toEqual({ remaining: 6, lost: false })
  })

  test('is not, if it is older than what was seen', () => {
    const settled = remembered(window, ['consume', 1, 100, 5, 59_900], ['settle', 3, 50, 6, 59_950])
    expect(settled).toEqual({ remaining: 5, lost: false })
  })

  test('shows that a window was lost', () => {
    const settled = remembered(window, ['consume', 5, 0, 2, 60_000], ['settle', 3, 100, 7, 59_900])
    expect(settled).toEqual({ remaining: 2, lost: true })
  })

  test('shows that a bucket was lost', () => {
    const bucket = tokenBucket({ capacity: 10, refill: 1, every: '1m' })
    const settled = remembered(bucket, ['consume', 5, 0, 2, 480_000], ['settle', 3, 100, 7, 180_000])
    expect(settled).toEqual({ remaining: 2, lost: true })
  })

  test('does not show whether what is no longer in a log was lost or is over, and must not hide it', () => {
    const log = slidingLog({ limit: 10, window: '1m' })
    const settled = remembered(log, ['consume', 5, 0, 2, 60_000], ['settle', 3, 100, 7, 59_900])
    expect(settled).toEqual({ remaining: 2, lost: false })
  })

  test('is no loss, if what was settled weighs no more', () => {
    const log = slidingLog({ limit: 10, window: '1m' })
    const settled = remembered(log, ['consume', 1, 0, 9, 60_000], ['settle', 1, 100, 9, 59_900])
    expect(settled).toEqual({ remaining: 9, lost: false })
  })
})

describe('a loss', () => {
  function lossesThat(ask: (group: Group, waiter: Waiter) => void) {
    const told: Group[] = []
    const losses = new Losses({
      deadlineMs: 1_000,
      events: storeEvents(undefined),
      ask,
      tell: (group) => told.push(group),
    })
    const watched = { id: 'k', seen: new LastSeen(1), salt: 1 }
    /** Nine of ten were used, and are lost when one more is. */
    function lose(): void {
      const nine = groupOf(window, 'consume', 9)
      void losses.noted(nine, watched, answer(nine, 0, 1, 60_000), performance.now())
      void take(100)
    }
    function take(ms: number): Promise<Answer> | undefined {
      const one = groupOf(window, 'consume')
      return losses.noted(one, watched, answer(one, ms, 9, 60_000), performance.now())
    }
    return { losses, watched, told, lose, take }
  }

  test('that Redis could not be told of, because that failed at once, is remembered', () => {
    const { losses, watched, lose } = lossesThat((_, waiter) => {
      waiter.failed(new StoreError('WEIR_STORE_FAILED', 'its circuit breaker is open'))
    })
    lose()
    expect(losses.untold(watched)?.remaining).toEqual([1])
  })

  test('that comes upon another one is not settled with it', () => {
    const waiters: Waiter[] = []
    const { losses, watched, lose, told } = lossesThat((_, waiter) => waiters.push(waiter))
    lose()
    lose()
    const raise = groupOf(window, 'raise', 9)
    waiters[0]?.answered(answer(raise, 200, 0, 59_800), performance.now())
    expect(told).toEqual([])
    waiters.at(-1)?.failed(new StoreError('WEIR_STORE_FAILED', 'Redis did not answer'))
    expect(losses.untold(watched)?.remaining).toEqual([0])
  })

  test('that is forgotten while Redis is told of it is not settled, and not remembered', () => {
    const waiters: Waiter[] = []
    const { losses, watched, lose, told } = lossesThat((_, waiter) => waiters.push(waiter))
    lose()
    losses.forget(watched)
    waiters[0]?.answered(answer(groupOf(window, 'raise', 9), 200, 0, 59_800), performance.now())
    expect(told).toEqual([])
    expect(watched.seen.get('k', 1)).toBeUndefined()
  })
})
