// Several nodes, one of which is away: another node takes its keys over, as when a replica of a
// Cluster does, and the others are not affected.

import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/index.js'
import type { Layer } from '../../../src/layer.js'
import { Resilience } from '../../../src/layers/resilience/resilience.js'
import { keyFormat } from '../../../src/redis/transport/keys.js'
import { Nodes } from '../../../src/redis/transport/nodes.js'
import { makePolicySet } from '../../../src/request.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming, decided, memoryIn } from '../requests.js'

const LIMIT = 100
const SEEN = 20
const COUNT = 4
/** The part of what is left when this process loses the node. */
const OWN_PART = (LIMIT - SEEN) / COUNT
const policySet = makePolicySet('p', [fixedWindow({ limit: LIMIT, window: '1h' })])

/** One of four processes, and nodes of one memory; keys that begin with `other` are on `b`. */
function worldOf(seed = 1) {
  const time = virtualTime(seed)
  const memory = memoryIn(time)
  const nodes = { a: { name: 'a' }, b: { name: 'b' }, replica: { name: 'replica' } }
  const world = { owner: 'a' as 'a' | 'replica', isAway: false, isBlip: false }
  const nodeOf = (key: string) => nodes[key.startsWith('other') ? 'b' : world.owner]
  const next: Layer = {
    ask(request, pending) {
      const { key } = request.target
      if (world.isBlip || (world.isAway && nodeOf(key) === nodes.a))
        pending.failed(new Error('Connection is closed.'))
      else pending.decided(memory.decide(request as never))
    },
  }
  const resilience = new Resilience(
    {
      title: 'Redis',
      recovers: true,
      next,
      nodes: {
        get all() {
          return [nodes[world.owner], nodes.b]
        },
        of: ({ key }) => nodeOf(key),
        keyOn: ({ name }) => (name === 'b' ? 'other' : 'probe'),
      },
      unready: () => undefined,
    },
    {
      time,
      clock: undefined,
      deadlineMs: 100,
      whenUnavailable: 'local',
      maxLocalKeys: 1_000,
      peers: () => ({ count: COUNT, rank: 0 }),
      log: undefined,
    },
  )
  async function granted(key: string, times: number): Promise<number> {
    let sum = 0
    for (let i = 0; i < times; i += 1)
      sum += (await decided(time, resilience, consuming(policySet, key))).granted
    return sum
  }
  return { world, time, resilience, granted }
}

test('the local quota stays a ceiling for 5 s when another node takes keys over', async () => {
  const { world, time, resilience, granted } = worldOf()
  expect(await granted('user', SEEN)).toBe(SEEN)
  world.isAway = true
  expect(await granted('user', OWN_PART / 2)).toBe(OWN_PART / 2)
  expect(resilience.status.health().state).toBe('open')
  world.owner = 'replica'
  expect(await granted('user', LIMIT)).toBe(OWN_PART / 2)
  const states = () => resilience.status.health().nodes.map(({ name, state }) => `${name} ${state}`)
  await time.advance(1)
  expect(states()).toEqual(['replica half-open', 'b closed'])
  await time.advance(6_000)
  expect(states()).toEqual(['replica closed', 'b closed'])
  expect(await granted('user', LIMIT)).toBe(LIMIT - SEEN - OWN_PART)
  resilience.close()
})

test('a healthy node has no ceiling, even when it is asked for the first time', async () => {
  const { world, resilience, granted } = worldOf()
  await granted('user', SEEN)
  world.isAway = true
  await granted('user', OWN_PART)
  expect(resilience.status.health().state).toBe('open')
  expect(await granted('other', LIMIT)).toBe(LIMIT)
  resilience.close()
})

test('what cannot be counted on a node that is away is no failure of a healthy one', async () => {
  // It is random whose turn it is to count what is owed to both.
  for (let seed = 1; seed <= 10; seed += 1) {
    const { world, time, resilience, granted } = worldOf(seed)
    const states = () => resilience.status.health().nodes.map(({ state }) => state)
    world.isBlip = true
    await granted('other', 1)
    Object.assign(world, { isBlip: false, isAway: true })
    for (const key of ['one', 'two', 'three', 'four']) await granted(key, 1)
    expect(states()).toEqual(['closed', 'closed'])
    await time.advance(1_000)
    expect([seed, ...states()]).toEqual([seed, 'open', 'closed'])
    resilience.close()
  }
})

test('all masters that a client of a Cluster knows are known before they are asked', () => {
  const masters = ['one', 'two', 'three']
  const nodeOf = (slot: number) => masters[slot % 3]
  const { all } = new Nodes({ isCluster: true, nodeOf }, keyFormat('weir'))
  expect(all.map(({ name }) => name)).toEqual(masters)
})
