// Batching of requests, before anything is sent.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../src/index.js'
import { batching } from '../../src/redis/transport/batching.js'
import type { Call } from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { virtualTime } from '../virtual-time.js'

test('a clock that fails fails only the request that needed it', () => {
  const wrong = new RangeError('no time')
  const clock = {
    nowUs: (): number => {
      throw wrong
    },
  }
  const nodes = { slots: 1, slotOf: () => 0, isIdle: () => false }
  const sent: unknown[] = []
  const send = (call: unknown) => void sent.push(call)
  const format = keyFormat('weir')
  const gathered = batching(send, { format, nodes, time: virtualTime(), clock })
  const failures: unknown[] = []
  const policySet = makePolicySet('a', [fixedWindow({ limit: 1, window: '1m' })])
  const request = {
    mode: 'consume',
    target: { policySet, key: 'k' },
    costs: [1],
    count: 1,
  } as const
  const decided = (): void => expect.unreachable()
  gathered.ask(request, { decided, failed: (error) => void failures.push(error) })
  gathered.flush()
  expect(failures).toEqual([wrong])
  expect(sent).toEqual([])
})

test('equal requests are decided as one, and none before an earlier request of its key', () => {
  const nodes = { slots: 1, slotOf: () => 0, isIdle: () => false }
  const sent: Call[] = []
  const send = (calls: readonly Call[]) => void sent.push(...calls)
  const format = keyFormat('weir')
  const options = { format, nodes, time: virtualTime(), clock: undefined }
  const gathered = batching(send, options)
  const policySet = makePolicySet('a', [fixedWindow({ limit: 10, window: '1m' })])
  const pending = { decided() {}, failed() {} }
  const ask = (key: string, cost: number): void =>
    gathered.ask({ mode: 'consume', target: { policySet, key }, costs: [cost], count: 1 }, pending)
  for (const cost of [2, 1, 1, 3, 1, 2, 1, 1]) ask('a', cost)
  ask('b', 1)
  ask('b', 1)
  ask('a', 1)
  gathered.flush()
  const entries = sent[0]?.entries.map(({ request: { target, costs, count }, others }) => {
    return `${target.key}: ${count + others.length} x ${costs}`
  })
  expect(entries).toEqual([
    'a: 1 x 2',
    'a: 2 x 1',
    'a: 1 x 3',
    'a: 1 x 1',
    'a: 1 x 2',
    'a: 3 x 1',
    'b: 2 x 1',
  ])
})

test('a request joins an equal one, unless a store that is late or fails means something else to it', () => {
  const nodes = { slots: 1, slotOf: () => 0, isIdle: () => false }
  const format = keyFormat('weir')
  const gathered = batching(() => {}, { format, nodes, time: virtualTime(), clock: undefined })
  const policySet = makePolicySet('a', [fixedWindow({ limit: 10, window: '1m' })])
  const pending = { decided() {}, failed() {} }
  const one = { mode: 'consume', target: { policySet, key: 'a' }, costs: [1], count: 1 } as const
  expect(gathered.join(one)).toBe(undefined)
  gathered.ask(one, pending)
  expect(gathered.join({ ...one })).toBe(pending)
  expect(gathered.join({ ...one, deadlineAtMs: 1 })).toBe(undefined)
  expect(gathered.join({ ...one, isForStore: true })).toBe(undefined)
  gathered.flush()
  expect(gathered.join({ ...one })).toBe(undefined)
})

test('a request of a class is not decided before what its class requested up to n units', () => {
  const nodes = { slots: 1, slotOf: () => 0, isIdle: () => false }
  const sent: Call[] = []
  const send = (calls: readonly Call[]) => void sent.push(...calls)
  const format = keyFormat('weir')
  const gathered = batching(send, { format, nodes, time: virtualTime(), clock: undefined })
  const policySet = makePolicySet('a', [fixedWindow({ limit: 10, window: '1m' })])
  const pending = { decided() {}, failed() {} }
  const one = { mode: 'consume', target: { policySet, key: 'a' }, costs: [1], keep: [2] } as const
  gathered.ask({ ...one, count: 1 }, pending)
  gathered.ask({ ...one, count: 1 }, pending)
  gathered.ask({ ...one, count: 5, atLeast: 1 }, pending)
  gathered.ask({ ...one, count: 1 }, pending)
  gathered.flush()
  const counts = sent[0]?.entries.map(({ request: { count }, others }) => count + others.length)
  expect(counts).toEqual([2, 5, 1])
})
