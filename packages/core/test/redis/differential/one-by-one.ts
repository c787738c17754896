// The same walk, request by request: each of n merged requests must have got what it gets alone.

import { strict as assert } from 'node:assert'
import type { Redis } from 'ioredis'
import { memoryStore } from '../../../src/memory/store.js'
import type { PreparedScript } from '../../../src/redis/transport/call.js'
import { keysOf } from '../../../src/redis/transport/keys.js'
import type { ScriptForm } from '../../../src/redis/transport/script-forms.js'
import type { PolicySet, Store, StoreRequest, StoreResult } from '../../../src/store.js'
import { patientStore } from '../patient.js'
import { verdictsOf } from '../verdicts.js'
import { withoutBegun } from './contract.js'
import { Model, type Reply, type Request } from './model.js'
import type { DrawnPolicy } from './recipe.js'
import { linesOf, plansOf, timesOf } from './replay.js'
import { KEYS, type Walk } from './walk.js'

/** A group of a step, with the reply to it as a whole. */
interface Merged {
  readonly request: Request
  readonly reply: Reply
  readonly nowUs: number
}

function mergedOf(walk: Walk): Merged[] {
  const steps = walk.calls.filter(({ probe }) => !probe)
  return steps.flatMap(({ requests, expected, nowUs }) =>
    requests.map((request, i) => ({ request, reply: expected[i] as Reply, nowUs })),
  )
}

/** Both drivers, without the probes, with a count of 1 each. */
export async function checkDriversOneByOne(
  client: Redis,
  walk: Walk,
  prefix: string,
  form: ScriptForm,
): Promise<void> {
  const lines = linesOf(plansOf(walk.versions), prefix, form)
  const model = new Model(walk.versions)
  const inRedis: Promise<unknown>[] = []
  const inModel: Reply[] = []
  for (const { request, reply, nowUs } of mergedOf(walk)) {
    const line = lines[request.version] as PreparedScript
    const { atLeast, count } = request
    const single = atLeast === undefined ? { ...request, count: 1 } : request
    const length = atLeast === undefined ? count : 1
    const replies = Array.from({ length }, () => model.decide(single, nowUs))
    const policies = walk.versions[request.version] as readonly DrawnPolicy[]
    if (atLeast === undefined)
      checkMerged(
        request,
        withoutBegun(reply, policies),
        replies.map((each) => withoutBegun(each, policies)),
      )
    else assert.deepEqual(replies, [reply])
    inModel.push(...replies)
    for (const _ of replies) {
      inRedis.push(
        verdictsOf(
          client,
          line,
          request.mode,
          [{ ...single, policySet: line.policySet, ...timesOf(request) }],
          nowUs,
        ),
      )
    }
  }
  const settled = (await Promise.all(inRedis)) as { verdicts: unknown[] }[]
  assert.deepEqual(
    settled.map(({ verdicts }) => verdicts[0]),
    inModel,
  )
}

/** What n requests got one by one, and the reply when they were merged. */
function checkMerged(
  { mode, costs, count }: Request,
  { granted, readings }: Reply,
  replies: readonly Reply[],
): void {
  replies.forEach((reply, i) => {
    assert.equal(reply.granted, i < granted ? 1 : 0, `merged: grants of ${mode}`)
    reply.readings.forEach(({ left }, place) => {
      const later = Math.max(0, granted - 1 - i) * (costs[place] as number)
      if (mode === 'consume')
        assert.equal(
          left,
          (readings[place]?.left as number) + later,
          'merged: what remains for each',
        )
    })
    if (mode === 'peek' || i === count - 1)
      assert.deepEqual(reply.readings, readings, 'merged: what the last one gets')
  })
}

/**
 * Both stores, which merge and batch as they like. Not for walks that went back, changed the
 * numbers or raised states: the Redis store then takes missing units for lost, and restores them
 * itself.
 */
export async function checkStores(client: Redis, walk: Walk, prefix: string): Promise<void> {
  const policySets = plansOf(walk.versions)
  const clock = { us: walk.calls[0]?.nowUs as number, nowUs: () => clock.us }
  const inMemory = new Map(KEYS.map((key) => [key, memoryStore({ clock })]))
  const inRedis = patientStore(client, { prefix, clock })
  for (const { request, nowUs } of mergedOf(walk)) {
    const {
      version,
      key,
      mode,
      costs,
      untilUs,
      seenUs,
      lossUs,
      atLeast,
      maxWaitMs,
      keep,
      aheadMs,
    } = request
    const [count, each] = atLeast === undefined ? [request.count, 1] : [1, request.count]
    clock.us = nowUs
    const target = { policySet: policySets[version] as PolicySet, key }
    const said = { untilUs, seenUs, lossUs, atLeast, maxWaitMs, keep, aheadMs }
    const asked = { mode, target, costs, count: each, ...said } as StoreRequest
    const memory = Array.from({ length: count }, () =>
      (inMemory.get(key) as Store).decide(asked),
    ) as StoreResult[]
    const redis = await Promise.all(Array.from({ length: count }, () => inRedis.decide(asked)))
    // Of merged requests, only the last one is certain to get its own waits.
    if (count === 1) {
      const unsent = (result: StoreResult) => ({ ...result, sentAtMs: undefined })
      assert.deepEqual(redis.map(unsent), memory.map(unsent))
    }
    const first = mode === 'consume' || mode === 'peek' ? 0 : count - 1
    assert.deepEqual(
      redis.slice(first).map(shortened),
      memory.slice(first).map(shortened),
      `${count} x ${mode}`,
    )
  }
  for (const store of [inRedis, ...inMemory.values()]) await store.close?.()
}

function shortened({ granted, policies }: StoreResult): object {
  return { granted, remaining: policies.map(({ remaining }) => remaining) }
}

/** A merged walk and a one-by-one walk left the same states in Redis. */
export async function checkSameStates(
  client: Redis,
  walk: Walk,
  one: string,
  other: string,
): Promise<void> {
  for (const key of KEYS) {
    const [states, others] = await Promise.all(
      [one, other].map((prefix) => {
        const [{ names, policySet }] = linesOf(plansOf(walk.versions), prefix) as [PreparedScript]
        return Promise.all(
          keysOf(names, { policySet, key }, []).map((name) => stateOf(client, name)),
        )
      }),
    )
    assert.deepEqual(others, states, `merged: the state of ${key}`)
  }
}

async function stateOf(client: Redis, name: string): Promise<unknown> {
  return (await client.type(name)) === 'list' ? client.lrange(name, 0, -1) : client.get(name)
}
