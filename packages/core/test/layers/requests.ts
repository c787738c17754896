// Requests and layers for the tests of layers.

import type { Layer, LayerRequest, Pending } from '../../src/layer.js'
import { promiseOf } from '../../src/layer.js'
import { type MemoryStore, memoryStoreOf } from '../../src/memory/store.js'
import type { PolicySet, StoreResult, Target } from '../../src/store.js'
import type { VirtualTime } from '../virtual-time.js'

/** A request with only the fields that all modes have. */
export interface PlainRequest<Mode extends LayerRequest['mode']> {
  readonly mode: Mode
  readonly target: Target
  readonly costs: readonly number[]
  readonly count: number
}

/** A request for one unit of each policy. */
export function consuming(policySet: PolicySet, key: string): PlainRequest<'consume'> {
  return onTarget({ policySet, key }, 'consume')
}

/** A request for one unit of each policy of a target. */
export function onTarget<Mode extends LayerRequest['mode']>(
  target: Target,
  mode: Mode,
): PlainRequest<Mode> {
  const costs = target.policySet.policies.map(() => 1)
  return { mode, target, costs, count: 1 }
}

/** A memory store that counts in virtual time, without timers of the process. */
export function memoryIn(time: VirtualTime): MemoryStore {
  return memoryStoreOf({ clock: time, time, maxKeys: 10_000, keys: 'exact', slackMs: 0 })
}

/** A layer that does what a test says, and records its requests. */
export class ScriptedLayer implements Layer {
  readonly asked: LayerRequest[] = []
  answer: (request: LayerRequest, pending: Pending) => void

  constructor(answer: ScriptedLayer['answer']) {
    this.answer = answer
  }

  ask(request: LayerRequest, pending: Pending): void {
    this.asked.push(request)
    this.answer(request, pending)
  }

  get modes(): readonly string[] {
    return this.asked.map(({ mode }) => mode)
  }
}

/** The synchronous answer of a layer: an error if it fails, undefined if there is none yet. */
export function answerOf(layer: Layer, request: LayerRequest): StoreResult | Error | undefined {
  let answer: StoreResult | Error | undefined
  layer.ask(request, {
    decided: (result) => {
      answer = result
    },
    failed: (error) => {
      answer = error as Error
    },
  })
  return answer
}

/** The answer of a layer in virtual time. */
export function decided(
  time: VirtualTime,
  layer: Layer,
  request: LayerRequest,
): Promise<StoreResult> {
  return time.settle(promiseOf(layer, request))
}
