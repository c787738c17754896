// Gathering requests, before anything is sent.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../src/index.js'
import { batching } from '../../src/redis/transport/batching.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { virtualTime } from '../virtual-time.js'

test('a clock that goes wrong fails the request that needed it, and throws at nobody', () => {
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
