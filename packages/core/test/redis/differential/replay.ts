// Replays a walk on Redis: the same calls must get the same replies, and calls that change nothing
// in the model must write nothing.

import { strict as assert } from 'node:assert'
import type { Redis } from 'ioredis'
import type { Kernel } from '../../../src/algorithms/algorithm.js'
import { makePolicy } from '../../../src/algorithms/policy.js'
import { type PreparedScript, prepareScript } from '../../../src/redis/transport/call.js'
import { keyFormat, keysOf } from '../../../src/redis/transport/keys.js'
import type { ScriptForm } from '../../../src/redis/transport/script-forms.js'
import { makePolicySet } from '../../../src/request.js'
import type { PolicySet } from '../../../src/store.js'
import { type Counted, verdictsOf } from '../verdicts.js'
import { kernels, type Reply, type Request, stateOf } from './model.js'
import type { DrawnPolicy } from './recipe.js'
import type { Call, Walk } from './walk.js'

/**
 * Later than every mark: states that were forgotten on purpose are raised nevertheless, as in the
 * model.
 */
const LATER_US = 9e15

export function timesOf({ seenUs = LATER_US, lossUs = LATER_US }: Request): {
  readonly seenUs: number
  readonly lossUs: number
} {
  return { seenUs, lossUs }
}

/**
 * What the driver adds to a TTL under an injected clock, less some seconds for the real time that
 * passes.
 */
const SLACK_MS = 600_000 - 10_000

/** The policy set of each version of a walk's policies. */
export function plansOf(versions: readonly (readonly DrawnPolicy[])[]): readonly PolicySet[] {
  return versions.map((policies) => {
    const drawn = policies.map(({ kernel, ...shown }) => {
      const base = { ...shown, kernel: kernels[kernel] as Kernel }
      return makePolicy({ ...base, algorithm: 'unlimited', unitMs: 0, maxWaitMs: 0 })
    })
    return makePolicySet('walk', drawn)
  })
}

export function linesOf(
  policySets: readonly PolicySet[],
  prefix: string,
  form?: ScriptForm,
): readonly PreparedScript[] {
  return policySets.map((policySet) => prepareScript(keyFormat(prefix), policySet, form))
}

/**
 * No other client may write to the server in the meantime. Does not wait for replies: a walk is one
 * long pipeline.
 */
export async function replay(client: Redis, walk: Walk, prefix: string): Promise<void> {
  const lines = linesOf(plansOf(walk.versions), prefix)
  // Loaded first, since EVALs after NOSCRIPT would come after calls that were sent in the meantime.
  await Promise.all(lines.map(({ script }) => client.script('LOAD', script.source)))
  let before = await changesSoFar(client)
  const outcomes = await Promise.all(
    walk.calls.map((call) => {
      const line = lines[call.version] as PreparedScript
      const groups = call.requests.map(
        (request): Counted => ({
          ...request,
          policySet: line.policySet,
          ...timesOf(request),
        }),
      )
      return Promise.all([
        verdictsOf(client, line, call.mode, groups, call.nowUs),
        changesSoFar(client),
        call.written.length > 0 ? checkTtls(client, walk, call, line, groups) : undefined,
      ])
    }),
  )
  outcomes.forEach(([{ nowUs, verdicts }, changes], place) => {
    const call = walk.calls[place] as Call
    const where = `call ${place}, ${call.mode} at ${call.nowUs}`
    assert.equal(nowUs, call.nowUs)
    assert.deepEqual(verdicts, call.expected, where)
    // A restore notes in a mark what it has restored.
    if (call.written.length === 0 && call.mode !== 'restore')
      assert.equal(changes, before, `${where}: wrote`)
    before = changes
  })
}

/** (e) Every write leaves a TTL that is longer than the state lives. */
async function checkTtls(
  client: Redis,
  walk: Walk,
  call: Call,
  line: PreparedScript,
  groups: readonly Counted[],
): Promise<void> {
  const written = groups.map(async (group, i) => {
    const { readings } = call.expected[i] as Reply
    const ttls = await Promise.all(keysOf(line.names, group, []).map((key) => client.pttl(key)))
    ttls.forEach((ttl, place) => {
      assert.notEqual(ttl, -1, '(e) a key without a TTL')
      // A clock that goes back makes TTLs that are written once a window too short by as much.
      if (walk.wentBack || groups.length > 1 || !call.written.includes(stateOf(group.key, place)))
        return
      const resetMs = Math.ceil((readings[place]?.resetUs as number) / 1_000)
      if (resetMs === 0) assert.equal(ttl, -2, 'a key with nothing in it')
      else
        assert.ok(ttl >= resetMs + SLACK_MS, `(e) a TTL of ${ttl} ms, and ${resetMs} ms to reset`)
    })
  })
  await Promise.all(written)
}

/** How many changes the server has made to its data so far. */
async function changesSoFar(client: Redis): Promise<number> {
  const info = await client.info('persistence')
  return Number(/rdb_changes_since_last_save:(\d+)/.exec(info)?.[1])
}
