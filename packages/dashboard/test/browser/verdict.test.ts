// What the page says first: whether all is well.

import { expect, test } from 'vitest'
import { clock, minute } from '../../src/page/format.js'
import { firstWords } from '../../src/page/parts/header.js'
import { findingsOf, limiterState, type Recent } from '../../src/page/verdict.js'
import type { Frame, LiveFrame, StoreFrame } from '../../src/protocol.js'
import { busyFrames, emptyFrame, quietLimiter, START_MS } from './fixture/frames.js'

const busy = busyFrames()()
const [cluster] = busy.stores as [StoreFrame]
const [plans] = busy.live as [LiveFrame]
const node = { ...(cluster.nodes[0] as StoreFrame['nodes'][number]), node: 'redis' }
const SINCE = { awaySinceMs: Date.UTC(2026, 10, 28, 20, 39) }
const AT = minute(SINCE.awaySinceMs)
const LATELY = minute(START_MS - 130_000)
const store = (
  state: 'closed' | 'open' | 'half-open',
  more: Partial<StoreFrame> = {},
): StoreFrame => ({
  ...{ ...cluster, id: 'redis', kind: 'redis', nodes: [{ ...node, state, ...SINCE }] },
  ...more,
})
const memory: StoreFrame = { ...store('closed'), id: 'memory', kind: 'memory', nodes: [] }
const api = { ...quietLimiter('api'), store: 'redis' }
const other = (health: 'closed' | 'open') => ({
  ...(busy.fleet[1] as Frame['fleet'][number]),
  health,
  limiters: [],
})
const nothing: Recent = { degraded: () => 0, errors: () => 0, refused: () => 0 }
const current = { ...plans, processes: [] }
const frame = (more: Partial<Frame>): Frame => ({
  ...emptyFrame(1),
  ...{ limiters: [api], stores: [store('closed'), memory], live: [current], ...more },
})

test.each<[words: string, more: Partial<Frame>, recent?: Partial<Recent>]>([
  ['', {}],
  ['', { stores: [memory] }],
  ['', { fleet: [other('closed')] }],
  [
    `Redis away since ${AT}: each process decides on its part`,
    { stores: [store('open', { answer: 'missing' }), memory] },
    { degraded: () => 9 },
  ],
  [
    `Redis away since ${AT}: what it limits passes`,
    { stores: [store('open', { whenUnavailable: 'allow' })] },
  ],
  [
    `Redis away since ${AT}: what it limits is refused`,
    { stores: [store('open', { whenUnavailable: 'deny' })] },
  ],
  [
    `Redis away since ${AT}: decisions fail`,
    { stores: [store('open', { whenUnavailable: 'throw' })] },
  ],
  // A server of an earlier version says neither.
  [
    'Redis away',
    {
      stores: [
        { ...store('open'), whenUnavailable: undefined, nodes: [{ ...node, state: 'open' }] },
      ],
    },
  ],
  [
    `Redis (redis#2) away since ${AT}: each process decides on its part`,
    { stores: [store('closed'), store('open', { id: 'redis#2' })] },
  ],
  [
    `10.0.0.13:6379 of Redis Cluster away since ${LATELY}: each process decides on its part`,
    { stores: [cluster] },
  ],
  [`Redis answers again, after it was away since ${AT}`, { stores: [store('half-open')] }],
  [
    'Redis does not answer this page, so other processes are not known',
    { stores: [store('closed', { answer: 'missing' }), memory], fleet: [other('open')] },
  ],
  ['A store is away in 1 other process: web-2-4712-b81kq2', { fleet: [other('open')] }],
  ['Some decisions of the last minute failed: api', {}, { errors: () => 1 }],
  ['Some decisions of the last minute were made without the store: api', {}, { degraded: () => 1 }],
  [
    'plans: the store is not heard, so what was read last holds',
    { live: [{ ...current, isCurrent: false }] },
  ],
  ['plans: this process refuses 1 stored policy', { live: [{ ...current, refused: 1 }] }],
  ['plans: 1 process does not have all limits that are set', { live: [plans] }],
  ['api is switched off', { limiters: [{ ...api, enabled: false }] }],
  [
    'requests refuses requests, to protect the process',
    { guards: busy.guards },
    { refused: () => 1 },
  ],
])('%s', (words, more, recent) => {
  const found = findingsOf(frame(more), { ...nothing, ...recent })
  expect(found.map(([, text]) => text)).toEqual(words === '' ? [] : [words])
  const said = { frame: frame(more), findings: found, ageMs: 0, isPaused: false }
  expect(firstWords({ ...said, link: { state: 'live' } })[1]).toBe(words || 'All well')
})

test('what is bad comes first, and what was well is not said of old figures', () => {
  const [first] = findingsOf(
    frame({ limiters: [{ ...api, enabled: false }], stores: [store('open')] }),
    nothing,
  )
  expect(first?.[1]).toContain('Redis away')
  const old = { frame: frame({}), findings: [], isPaused: false, ageMs: 0 }
  const link = { state: 'live' } as const
  const at = clock(START_MS + 1_000)
  expect([
    firstWords({ ...old, link, ageMs: 4_000 }),
    firstWords({ ...old, link, isPaused: true }),
    firstWords({ ...old, link: { state: 'waiting', reason: '', retryAtMs: 0 } }),
    firstWords({ ...old, link, frame: undefined }),
    firstWords({ ...old, link, frame: frame({ stores: [store('closed', { answer: 'asked' })] }) }),
  ]).toEqual([
    ['fair', `No figures since ${at}`],
    ['idle', `Paused at ${at}. Then: All well`],
    ['bad', `No connection to the server since ${at}`],
    ['idle', 'Connecting'],
    ['idle', 'Asking Redis'],
  ])
})

test.each([
  ['enforced', {}, store('closed')],
  ['decides locally', {}, store('open')],
  ['not enforced', {}, store('open', { whenUnavailable: 'allow' })],
  ['in part', {}, { ...cluster, id: 'redis' }],
  ['enforced', { store: 'memory' }, store('open')],
  ['decides locally', { store: undefined }, store('open')],
  ['not known', {}, store('closed', { answer: 'missing' })],
  ['shadow', { shadow: true }, store('open')],
  ['off', { enabled: false }, store('open')],
])('a limiter is %s', (words, limiter, of) => {
  const stores = [of, memory]
  expect(limiterState({ ...api, ...limiter } as typeof api, frame({ stores }))[1]).toBe(words)
})
