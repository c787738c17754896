// What can be done on the page, and what is recorded of it.

import {
  fixedWindow,
  lockout,
  memoryStore,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import { livePolicies } from '@weir/core/live'
import { startProxy, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, test, vi } from 'vitest'
import { type Dashboard, type DashboardOptions, dashboard } from '../src/index.js'
import type { ActionAnswer, ActionNote, Frame, Preview, Problem } from '../src/protocol.js'
import { TIMERS } from './fake-time.js'
import { quiet } from './servers.js'

const URL_OF_PAGE = 'http://localhost:3000/weir/'
const open: { close(): unknown }[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
  vi.useRealTimers()
})

type Answer = ActionAnswer & Problem & Preview

function acting(limiters: DashboardOptions['limiters'], options: Partial<DashboardOptions> = {}) {
  const notes: (ActionNote & { key?: string | undefined })[] = []
  const made: Dashboard = dashboard({
    ...{ ...quiet, limiters, path: '/weir', actions: true, authorize: () => ({ name: 'ada' }) },
    ...{ onAction: (note) => void notes.push(note), ...options },
  })
  open.push(made)
  return {
    notes,
    async act(value: object, path = 'actions'): Promise<{ status: number; answer: Answer }> {
      const headers = { origin: 'http://localhost:3000', 'content-type': 'application/json' }
      const body = JSON.stringify(value)
      const request = new Request(URL_OF_PAGE + path, { method: 'POST', headers, body })
      const answer = await made.fetch(request)
      return { status: answer.status, answer: (await answer.json()) as Answer }
    },
    /** Begins to watch, so that keys are seen. */
    async watch(): Promise<void> {
      const { body } = await made.fetch(new Request(`${URL_OF_PAGE}events`))
      open.push({ close: () => body?.cancel() })
    },
    /** A frame that is made now. */
    async frame(): Promise<Frame> {
      const answer = await made.fetch(new Request(`${URL_OF_PAGE}events`))
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
      const { value } = await reader.read()
      await reader.cancel()
      return JSON.parse(/^data: (.*)$/m.exec(new TextDecoder().decode(value))?.[1] ?? '') as Frame
    },
  }
}

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h' })

test('a key is reset, and recorded masked; onAction gets the whole key', async () => {
  const limiter = new RateLimiter({ name: 'api', policy: hourly })
  const { act, frame, notes } = acting([limiter])
  await limiter.consume('user-42')
  const of = { limiter: 'api', key: 'user-42', confirm: 'api' }
  const { answer } = await act({ ...of, kind: 'reset' })
  expect(answer.note).toMatchObject({ who: 'ada', outcome: 'done' })
  expect(answer.note.what).toMatch(/^reset us…~[0-9a-f]{4} of api$/)
  expect((await limiter.peek('user-42')).remaining).toBe(2)
  expect(notes).toMatchObject([{ key: 'user-42', who: 'ada' }])
  expect((await frame()).actions).toEqual([answer.note])
  // What Weir refuses is recorded with the reason.
  const block = await act({ ...of, kind: 'block', duration: '1h' })
  expect([block.status, block.answer]).toMatchObject([
    200,
    {
      note: { outcome: 'refused', why: expect.stringContaining('lock-out') },
      problem: { code: 'WEIR_INVALID_POLICY' },
    },
  ])
})

test('a key is blocked and unblocked', async () => {
  const policy = lockout({ name: 'guesses', limit: 3, window: '15m', block: ['1m'], forget: '1d' })
  const limiter = new RateLimiter({ name: 'login', policy })
  const { act } = acting([limiter])
  const of = { limiter: 'login', key: 'u42', confirm: 'login' }
  await act({ ...of, kind: 'block', duration: '1h' })
  expect((await limiter.peek('u42')).allowed).toBe(false)
  await act({ ...of, kind: 'unblock' })
  expect((await limiter.peek('u42')).allowed).toBe(true)
})

test.each([
  [{ kind: 'reset', limiter: 'api', key: 'u42' }, 400],
  [{ kind: 'reset', limiter: 'api', key: 'u42', confirm: 'ap' }, 409],
  [{ kind: 'disable', limiter: 'api', confirm: 'API' }, 409],
  [{ kind: 'erase', limiter: 'api', confirm: 'api' }, 400],
  [{ kind: 'toString', limiter: 'api', confirm: 'api' }, 400],
  [{ kind: 'reset', limiter: 'nobody', key: 'u42', confirm: 'nobody' }, 404],
  [{ kind: 'set', live: 'nobody', name: 'a', policy: {}, confirm: 'a' }, 404],
])('%o gets %i, and is neither done nor recorded', async (action, status) => {
  const limiter = new RateLimiter({ name: 'api', policy: hourly })
  const { act, frame } = acting([limiter])
  await limiter.consume('u42')
  expect((await act(action)).status).toBe(status)
  expect((await limiter.peek('u42')).remaining).toBe(1)
  expect(limiter.enabled).toBe(true)
  expect((await frame()).actions).toEqual([])
})

test('a limiter is switched off and on, and only in this process if its store informs no others', async () => {
  const limiter = new RateLimiter({ name: 'api', policy: hourly })
  const { act, frame } = acting([limiter])
  const of = { limiter: 'api', confirm: 'api' }
  const off = await act({ ...of, kind: 'disable' })
  expect(off.answer.note).toMatchObject({ what: 'switch off api', outcome: 'done' })
  expect(off.answer.note.why).toContain('this process only')
  expect(limiter.enabled).toBe(false)
  expect((await frame()).limiters).toMatchObject([{ enabled: false }])
  await act({ ...of, kind: 'enable' })
  expect(limiter.enabled).toBe(true)
})

/** Live policies in memory, in a time that passes when the test says so. */
function liveInTime() {
  vi.useFakeTimers({ toFake: TIMERS })
  const store = memoryStore()
  const defaults = { plan: hourly, other: fixedWindow({ name: 'other', limit: 5, window: '1d' }) }
  const live = livePolicies(store, { name: 'plans', defaults })
  open.push(live)
  return live
}

/** Lets a moment pass, after which a change is followed everywhere, and the next frame is made. */
async function pass(): Promise<void> {
  await vi.advanceTimersByTimeAsync(2_000)
}

const NINE = { algorithm: 'fixed-window', name: 'hourly', limit: 9, window: '1h' }
const SET = { kind: 'set', live: 'plans', name: 'plan', confirm: 'plan' }
const PLANS = { live: 'plans', confirm: 'plans' }

test('live policies are set, overridden, removed, rolled back and unset, and shown so', async () => {
  const live = liveInTime()
  const { act, frame } = acting([live], { showKeys: true })
  const done = async (action: object): Promise<void> => {
    const { note } = (await act(action)).answer
    expect([note.outcome, note.why]).toEqual(['done', undefined])
    await pass()
  }
  await done({ ...SET, policy: NINE })
  expect(live.for('plan').limit).toBe(9)
  const override = { ...PLANS, kind: 'override' }
  await done({ ...override, key: 'u42', isPrefix: false, policy: { ...NINE, limit: 20 } })
  await done({ ...override, key: 'org-', isPrefix: true, policy: { ...NINE, limit: 30 } })
  await frame()
  await pass()
  const [shown] = (await frame()).live
  expect(shown).toMatchObject({
    ...{ id: 'plans', version: 3, overrideCount: 2, processes: [{ version: 3 }] },
    overrides: [
      { kind: 'key', key: 'u42', policy: { limit: 20 } },
      { kind: 'prefix', key: 'org-', policy: { limit: 30 } },
    ],
    policies: [
      { name: 'plan', policy: NINE, default: { algorithm: 'fixed-window', limit: 2 } },
      { name: 'other', policy: { algorithm: 'fixed-window', limit: 5 } },
    ],
  })
  expect(shown?.policies[1]?.default).toBeUndefined()
  expect(shown?.history.at(-1)).toMatchObject({ version: 1, what: 'plan', policy: NINE })
  await done({ ...PLANS, kind: 'remove', handle: shown?.overrides[0]?.handle })
  expect(live.overrides().length).toBe(1)
  await done({ ...PLANS, kind: 'rollback', version: 1 })
  expect([live.overrides().length, live.for('plan').limit]).toEqual([0, 9])
  await done({ ...SET, kind: 'unset' })
  expect(live.for('plan').limit).toBe(2)
})

test('a key of a list is overridden by its handle, whole, and noted by its mask', async () => {
  const live = liveInTime()
  const limiter = new RateLimiter({ name: 'of-handles', policy: hourly })
  const { act, watch, frame, notes } = acting([limiter, live])
  await watch()
  for (let i = 0; i < 3; i += 1) await limiter.consume('user-42-of-acme')
  await pass()
  const handle = (await frame()).limiters[0]?.refusedKeys[0]?.handle
  const of = { ...PLANS, kind: 'override', handle, policy: NINE }
  const { answer } = await act({ ...of, limiter: 'of-handles', isPrefix: false })
  expect(answer.note).toMatchObject({ outcome: 'done' })
  expect(answer.note.what).toMatch(/^override use…~[0-9a-f]{4} of plans by /)
  expect(notes).toMatchObject([{ key: 'user-42-of-acme' }])
  await pass()
  expect(live.for('plan', 'user-42-of-acme').limit).toBe(9)

  const refused = [
    { ...of, limiter: 'of-handles', isPrefix: true },
    { ...of, limiter: 'of-handles', isPrefix: false, key: 'user-42-of-acme' },
    { ...of, limiter: 'of-handles', isPrefix: false, handle: 'h999' },
    { ...of, isPrefix: false },
  ]
  for (const each of refused) expect((await act(each)).status).toBe(400)
  expect((await act({ ...of, limiter: 'nobody', isPrefix: false })).status).toBe(404)
  expect(live.overrides()).toHaveLength(1)
})

test('a preview checks a change of live policies, says whether a new counter begins, and does nothing', async () => {
  const live = liveInTime()
  const { act, frame } = acting([live], { showKeys: true })
  const longer = { ...NINE, window: '2h' }
  const override = { ...PLANS, kind: 'override', key: 'u42', isPrefix: false }
  const previewed = async (action: object): Promise<unknown> => {
    const { answer } = await act(action, 'preview')
    return answer.isNewCounter ?? answer.code
  }
  expect([
    await previewed({ ...SET, policy: NINE }),
    await previewed({ ...SET, policy: longer }),
    await previewed({ ...override, policy: NINE }),
    await previewed({ ...override, isPrefix: true, policy: longer }),
    await previewed({ ...override, policy: { algorithm: 'unlimited', name: 'hourly' } }),
  ]).toEqual([false, true, false, true, true])
  for (const wrong of [
    { ...SET, policy: { ...NINE, limt: 5 } },
    { ...SET, policy: { ...NINE, limit: -1 } },
    { ...SET, policy: { ...NINE, algorithm: 'sliding-log' } },
    { ...override, policy: { ...NINE, name: 'of-none' } },
  ])
    expect(await previewed(wrong)).toBe('WEIR_INVALID_POLICY')
  expect(await previewed({ ...SET, policy: NINE, confirm: 'other' })).toBe('not-confirmed')
  expect([(await live.list()).version, (await frame()).actions]).toEqual([0, []])

  await act({ ...SET, policy: longer })
  await act({ ...override, policy: NINE })
  await pass()
  const handle = (await frame()).live[0]?.overrides[0]?.handle
  expect([
    await previewed({ ...PLANS, kind: 'remove', handle }),
    await previewed({ ...SET, kind: 'unset' }),
    await previewed({ ...PLANS, kind: 'rollback', version: 0 }),
  ]).toEqual([true, true, true])
  expect(live.for('plan', 'u42').limit).toBe(9)
})

test('an invalid policy, or one of another kind, is refused, changes nothing, and is noted with its key', async () => {
  const live = liveInTime()
  const { act, notes } = acting([live])
  const bad = { ...NINE, limit: -1 }
  const override = { kind: 'override', key: 'u42', isPrefix: false, confirm: 'plans' }
  for (const action of [
    { ...SET, policy: bad },
    { ...SET, policy: { ...bad, algorithm: 'sliding-log', limit: 3 } },
    { ...SET, ...override, policy: bad },
  ])
    expect((await act(action)).answer).toMatchObject({
      note: { outcome: 'refused' },
      problem: { code: 'WEIR_INVALID_POLICY' },
    })
  expect((await live.list()).version).toBe(0)
  const outcome = 'refused'
  expect(notes).toMatchObject([{ outcome }, { outcome }, { outcome, key: 'u42' }])
})

test('an action that would change nothing is reported as such', async () => {
  const { act } = acting([liveInTime()])
  const { answer } = await act({ kind: 'unset', live: 'plans', name: 'plan', confirm: 'plan' })
  expect(answer.note).toMatchObject({ outcome: 'done', why: 'it was so already' })
})

test('an action that the store does not receive has failed, and is recorded', async () => {
  const server = await startRedis()
  open.push({ close: () => server.stop() })
  const proxy = await startProxy(server.port)
  open.push({ close: () => proxy.stop() })
  const client = new Redis(proxy.url, recommendedRedisOptions)
  client.on('error', () => {})
  const store = redisStore(client)
  open.push({ close: () => client.disconnect() }, store)
  const limiter = new RateLimiter({ name: 'api', store, policy: hourly })
  open.push(limiter)
  await limiter.consume('u42')
  const { act } = acting([limiter])
  await proxy.set('refuse')
  const { answer } = await act({ kind: 'reset', limiter: 'api', key: 'u42', confirm: 'api' })
  expect(answer).toMatchObject({
    note: { outcome: 'failed' },
    problem: { code: 'WEIR_STORE_FAILED' },
  })
  await act({ kind: 'disable', limiter: 'api', confirm: 'api' })
  expect(limiter.enabled).toBe(false)
})

test('the last hundred actions are kept', async () => {
  const limiter = new RateLimiter({ name: 'api', policy: hourly })
  const { act, frame } = acting([limiter], { showKeys: true })
  for (let i = 0; i < 103; i += 1)
    await act({ kind: 'reset', limiter: 'api', key: `k${i}`, confirm: 'api' })
  const { actions } = await frame()
  expect(actions).toHaveLength(100)
  expect(actions[0]?.what).toBe('reset k102 of api')
  expect(actions[99]?.what).toBe('reset k3 of api')
})

test('if the store hides keys, an override that cannot be found by its hash is not reported as removed', async () => {
  const server = await startRedis()
  open.push({ close: () => server.stop() })
  const client = new Redis(server.url, recommendedRedisOptions)
  open.push({ close: () => client.disconnect() })
  const store = redisStore(client, { hashKeys: 'a secret of sixteen characters' })
  open.push(store)
  const live = livePolicies(store, { name: 'plans', defaults: { plan: hourly } })
  open.push(live)
  await live.override('u42', fixedWindow({ name: 'hourly', limit: 9, window: '1h' }))
  await expect.poll(() => live.overrides().length).toBe(1)
  const { act, frame } = acting([live])
  const handle = (await frame()).live[0]?.overrides[0]?.handle
  const { answer } = await act({ kind: 'remove', live: 'plans', handle, confirm: 'plans' })
  expect(answer.note).toMatchObject({ outcome: 'failed', why: expect.stringContaining('hashKeys') })
  expect(live.overrides()).toHaveLength(1)
})
