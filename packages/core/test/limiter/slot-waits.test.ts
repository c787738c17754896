// Which waiting requests are woken when slots are released in this process.

import { expect, test } from 'vitest'
import { concurrency } from '../../src/index.js'
import { SlotWaits } from '../../src/limiter/slots/waits.js'
import { makePolicySet } from '../../src/request.js'

const open = concurrency({ name: 'open', limit: 3, holdTimeout: '30s' })
const all = concurrency({ name: 'all', limit: 9, holdTimeout: '30s' })
const policySet = makePolicySet('gateway', [open])
const both = makePolicySet('gateway', [open, all])

function world() {
  const waits = new SlotWaits()
  const woken: string[] = []
  const waiter = (name: string) => ({ wake: () => void woken.push(name) })
  return { waits, woken, waiter }
}
const of = (key: string) => ({ policySet, key })

test('as many are woken as slots were released, those with the longest wait first', () => {
  const { waits, woken, waiter } = world()
  for (const name of ['first', 'second', 'third']) waits.add(of('k'), waiter(name))
  waits.freed({ target: of('k'), costs: [2] })
  expect(woken).toEqual(['first', 'second'])
  waits.freed({ target: of('other'), costs: [2] })
  expect(woken).toHaveLength(2)
})

test('a request that no longer waits is not woken', () => {
  const { waits, woken, waiter } = world()
  const [first, second] = [waiter('first'), waiter('second')]
  waits.add(of('k'), first)
  waits.add(of('k'), second)
  waits.remove(of('other'), second)
  waits.remove(of('k'), first)
  waits.freed({ target: of('k'), costs: [1] })
  expect(woken).toEqual(['second'])
  waits.remove(of('k'), second)
  waits.remove(of('k'), second)
  waits.freed({ target: of('k'), costs: [1] })
  expect(woken).toHaveLength(1)
})

test('each of several policies has its own waiting requests, and none is woken twice', () => {
  const { waits, woken, waiter } = world()
  const ofAll = { key: 'all', tag: 'all' }
  const policyKeys = [undefined, ofAll]
  const target = (key: string) => ({ policySet: both, key, policyKeys })
  waits.add(target('k'), waiter('same key'))
  waits.add(target('other'), waiter('same policy'))
  waits.freed({ target: target('k'), costs: [1, 3] })
  expect(woken).toEqual(['same key', 'same policy'])
  waits.freed({ target: target('none'), costs: [1, 1] })
  expect(woken).toEqual(['same key', 'same policy', 'same key'])
})
