// Each bound with the numbers of its example in docs/resilience.md.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as bounds from '../src/bounds.js'

const page = readFileSync(new URL('../../../docs/resilience.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## What may be lost'), page.indexOf('## Cluster'))

const LIMIT = 100
const [quota, ...others] = bounds.localQuotas(LIMIT, 4) as [number, ...number[]]

/** The formulas, in the order of the table: what each says, and how the table shows it. */
const examples: Record<
  Exclude<keyof typeof bounds, 'localQuotas'>,
  readonly (readonly [number, string])[]
> = {
  wholeOutage: [[bounds.wholeOutage(LIMIT, 3), '100 + 3 = 103']],
  staleView: [
    [bounds.staleView(LIMIT, [99, 99, 99, 0]), '100 + 25 + 25 + 25 = 175'],
    [bounds.staleView(LIMIT, [20, 20, 20, 0]), '100 + 5 + 5 + 5 = 115'],
  ],
  partialOutage: [
    [bounds.partialOutage(LIMIT, [quota]), '100 + 25 = 125'],
    [bounds.partialOutage(LIMIT, [quota, ...others.slice(1)]), '100 + 75 = 175'],
  ],
  returnOfProcesses: [[bounds.returnOfProcesses(LIMIT, others.slice(1)), '100 + 50 = 150']],
  unknownInstances: [[bounds.unknownInstances(LIMIT, 2), '100 + 2 × 100 = 300']],
  failedCallsBesidePeers: [[bounds.failedCallsBesidePeers(LIMIT, 24), '100 + 24 = 124']],
  endOfProcess: [[bounds.endOfProcess(LIMIT, 10), '100 + 10 = 110']],
  lostReply: [[bounds.lostReply(LIMIT), 'given back again | 100 |']],
  lossSeenFirst: [[bounds.lossSeenFirst(LIMIT, 2, 5, 20), '100 + (5 + 0) + (5 + 20) = 130']],
  lossSeenByOtherFirst: [[bounds.lossSeenByOtherFirst(LIMIT, 2), '100 × 3 = 300']],
  moreKeysThanRemembered: [
    [bounds.moreKeysThanRemembered(LIMIT, [quota, ...others]), '100 + 100 = 200'],
  ],
  ownPolicyInOutage: [[bounds.ownPolicyInOutage(5, 10), '10 × 5 = 50']],
  laggingReplica: [[bounds.laggingReplica(LIMIT, 50, 200), '100 + 50 × 0.2 = 110']],
  partition: [[bounds.partition(LIMIT, 2), '100 × 2 = 200']],
  waitingInOutage: [[bounds.waitingInOutage(LIMIT, 30), '100 + 30 = 130']],
  failedSettlements: [[bounds.failedSettlements(LIMIT, 40), '100 + 40 = 140']],
}

describe('what may be lost', () => {
  for (const [name, shown] of Object.entries(examples)) {
    test(`${name} says what its example in docs/resilience.md says`, () => {
      for (const [most, text] of shown) {
        expect(section).toContain(text)
        expect(Number(text.match(/\d+/g)?.at(-1))).toBe(most)
      }
    })
  }

  test('the table in docs/resilience.md has a row for each formula, and no other', () => {
    const rows = section.split('\n').filter((each) => each.startsWith('| '))
    // The head of the table.
    expect(rows.length - 1).toBe(Object.keys(examples).length)
  })
})

test('local quotas add up to the limit, and some are 0 where processes are more', () => {
  expect(bounds.localQuotas(100, 4)).toEqual([25, 25, 25, 25])
  expect(bounds.localQuotas(10, 4)).toEqual([3, 3, 2, 2])
  expect(bounds.localQuotas(3, 4)).toEqual([1, 1, 1, 0])
})

test('a view that is current, or nobody in flight, leaves the limit as it is', () => {
  expect(bounds.staleView(10, [0, 0, 0])).toBe(10)
  expect(bounds.wholeOutage(10, 0)).toBe(10)
  expect(bounds.lossSeenFirst(10, 3, 0)).toBe(10)
  expect(bounds.partialOutage(10, [])).toBe(10)
})

test('parts of what others took are rounded up, each for itself', () => {
  expect(bounds.staleView(10, [1, 1, 4])).toBe(10 + 1 + 1 + 2)
})
