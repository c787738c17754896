// A Cluster of two nodes that decide in memory, with the real batching, in virtual time.

import type { Reading } from '../../src/algorithms/driver.js'
import { StoreError } from '../../src/base/errors.js'
import type { Backend, BackendNode } from '../../src/layers/resilience/backend.js'
import type { MemoryStore } from '../../src/memory/store.js'
import { batching } from '../../src/redis/transport/batching.js'
import { type Call, type Entry, fail, handOut } from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { Nodes } from '../../src/redis/transport/nodes.js'
import type { PolicySet, StoreRequest, Target } from '../../src/store.js'
import type { VirtualTime } from '../virtual-time.js'
import { memoryIn } from './requests.js'

const SLOTS = 16_384

/** How a node handles calls. */
export interface FakeNode {
  /** The time to the node, and the time back. */
  latencyMs: number
  /** `silent`: calls are lost. `refusing`: they fail. `deaf`: replies are lost. */
  state: 'up' | 'silent' | 'refusing' | 'deaf'
  store: MemoryStore
  calls: number
  decisions: number
}

export interface FakeCluster {
  readonly nodes: { readonly a: FakeNode; readonly b: FakeNode }
  readonly backend: Backend
  readonly slotsOf: (target: Target) => readonly number[]
  /** What is left of each policy, on the node that decides the target's first one. */
  left(target: Target): number[]
}

/** The first half of the slots is on `a`, the rest on `b`. */
export function fakeCluster(time: VirtualTime): FakeCluster {
  const fakeNode = (): FakeNode => {
    return { latencyMs: 0.5, state: 'up', store: memoryIn(time), calls: 0, decisions: 0 }
  }
  const fakes = { a: fakeNode(), b: fakeNode() }
  const nodeOf = (slot: number): string => (slot < SLOTS / 2 ? 'a' : 'b')
  const nodes = new Nodes({ isCluster: true, nodeOf }, keyFormat('weir'))
  const fakeOf = ({ name }: BackendNode): FakeNode => fakes[name as 'a' | 'b']

  function send(call: Call): void {
    const node = nodes.ofSlot(call.slot)
    const fake = fakeOf(node)
    const sentAtMs = time.nowMs()
    const failAll = (reason: string): void => {
      node.inFlight -= 1
      const cause = new Error(reason)
      const error = new StoreError('WEIR_STORE_FAILED', `Redis could not decide: ${reason}`, {
        cause,
      })
      fail(call, error)
    }
    fake.calls += 1
    node.inFlight += 1
    time.after(fake.latencyMs, () => {
      if (fake.state === 'refusing') failAll('connect ECONNREFUSED')
      // The connection ends at some time, and with it the wait.
      else if (fake.state === 'silent') time.after(2_000, () => failAll('Connection is closed'))
      else {
        const replies = call.entries.map((entry) => decidedBy(fake, entry))
        const nowUs = time.nowUs()
        const isLost = fake.state === 'deaf'
        time.after(isLost ? 2_000 : fake.latencyMs, () => {
          if (isLost) failAll('Connection is closed')
          else {
            node.inFlight -= 1
            call.entries.forEach((entry, i) => {
              const { granted, readings } = replies[i] as (typeof replies)[0]
              handOut(entry, granted, readings, nowUs, sentAtMs)
            })
          }
        })
      }
    })
  }

  const format = keyFormat('weir')
  const gathered = batching((calls) => calls.forEach(send), {
    format,
    nodes,
    time,
    clock: undefined,
  })
  return {
    nodes: fakes,
    slotsOf: (target) => nodes.slotsOf(target),
    backend: {
      title: 'Redis',
      recovers: true,
      next: gathered,
      nodes,
      unready: () => undefined,
    },
    left(target) {
      const costs = target.policySet.policies.map(() => 1)
      const { store } = fakeOf(nodes.of(target))
      const { policies } = store.decide({ mode: 'peek', target, costs, count: 1 })
      return policies.map(({ remaining }) => remaining)
    },
  }
}

function decidedBy(
  fake: FakeNode,
  { request, others }: Entry,
): { readonly granted: number; readonly readings: readonly Reading[] } {
  fake.decisions += 1
  const { mode } = request
  if (mode === 'reset') fake.store.reset(request.target)
  const count = request.count * (1 + others.length)
  const asked = { ...request, mode: mode === 'reset' ? 'peek' : mode, count } as StoreRequest
  const { granted, policies, nowUs, untilUs } = fake.store.decide(asked)
  const readings = policies.map(({ remaining, retryAfterMs }, i): Reading => {
    const waitMs = retryAfterMs === Number.POSITIVE_INFINITY ? -1 : retryAfterMs
    return { left: remaining, waitMs, resetUs: (untilUs[i] as number) - nowUs }
  })
  return { granted, readings }
}

/** A key whose only slot is on this node. */
export function keyOn(
  name: 'a' | 'b',
  policySet: PolicySet,
  slotsOf: FakeCluster['slotsOf'],
): string {
  for (let n = 0; ; n += 1) {
    const [slot] = slotsOf({ policySet, key: `${name}${n}` }) as [number]
    if (slot < SLOTS / 2 === (name === 'a')) return `${name}${n}`
  }
}
