// Processes that share a store see each other while somebody watches.

import { fixedWindow, memoryStore, RateLimiter, type Store } from '@weir/core'
import type { Settings } from '@weir/core/store'
import { afterEach, expect, test } from 'vitest'
import { planned } from '../src/act/planned.js'
import { Collector } from '../src/collect/collector.js'
import { allOf } from '../src/watched.js'
import { type FakeTime, fakeTime } from './fake-time.js'

const open: { close(): void }[] = []

afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** A store in this process whose settings do the same as those of Redis, and count their calls.
 *  Each process has its own view of it. */
function sharedStore(time: FakeTime) {
  const all = memoryStore({ clock: { nowUs: () => time.nowMs() * 1_000 } }).settings as Settings
  const reports = new Map<string, { readonly text: string; readonly untilMs: number }>()
  const listeners = new Set<(isWatched: boolean) => void>()
  let watchedUntilMs = 0
  let isAway = false
  let isHanging = false
  const asked: string[] = []

  function ask<Value>(what: string, answer: () => Value): Promise<Value> {
    asked.push(what)
    if (isHanging) return new Promise(() => {})
    return isAway ? Promise.reject(new Error('away')) : Promise.resolve(answer())
  }

  function beat(): void {
    const isWatched = time.steadyMs() < watchedUntilMs
    for (const each of listeners) each(isWatched)
  }

  const settings = {
    news: (name: string, since?: never) => ask('news', () => all.news(name, since)),
    change: (name: string, request: never) => ask('change', () => all.change(name, request)),
    report: (_: string, process: string, text: string, ttlMs: number) =>
      ask(
        'report',
        () => void reports.set(`host-1-${process}`, { text, untilMs: time.steadyMs() + ttlMs }),
      ),
    reports: () =>
      ask('reports', () => {
        const known = [...reports].filter(([, { untilMs }]) => untilMs > time.steadyMs())
        return known.map(([process, { text }]) => ({ process, text }))
      }),
    watch: (ttlMs: number) =>
      ask('watch', () => {
        watchedUntilMs = time.steadyMs() + ttlMs
      }),
    onWatched(listener: (isWatched: boolean) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  } as unknown as Settings

  return {
    asked,
    listeners,
    /** As with `hashKeys`. */
    hide: () => Object.assign(settings, { hidden: (key: string) => `hash of ${key}` }),
    setAway: (away: boolean) => {
      isAway = away
    },
    /** From now on, it never answers. */
    hang: () => {
      isHanging = true
    },
    /** The view of a process. */
    view(): Store {
      return Object.create(memoryStore(), { settings: { value: settings } }) as Store
    },
    /** Lets time pass, with a heartbeat every 3 s, and answers all calls. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 500) {
        if (passed % 3_000 === 0) beat()
        time.pass(500)
        for (let i = 0; i < 20; i += 1) await Promise.resolve()
      }
      beat()
    },
  }
}

function started(time: FakeTime, store: Store, name = 'api') {
  const limiter = limiterOn(store, name)
  return { limiter, collector: collecting(time, [limiter]) }
}

function limiterOn(store: Store, name: string): RateLimiter {
  const policy = fixedWindow({ name: 'hourly', limit: 1, window: '1h' })
  return new RateLimiter({ name, store, policy })
}

function collecting(time: FakeTime, limiters: readonly RateLimiter[]): Collector {
  const collector = new Collector(time, allOf(limiters), {
    showKeys: true,
    notes: () => [],
    failed: (error) => expect.unreachable(String(error)),
  })
  open.push(collector)
  return collector
}

/** Processes on one store, the first of which is watched and has heard of the others. With
 *  different names where keys matter, since processes share a channel of decisions here. */
async function watched(names: readonly string[] = ['api', 'api'], hides = false) {
  const time = fakeTime()
  const shared = sharedStore(time)
  if (hides) shared.hide()
  const all = names.map((name) => started(time, shared.view(), name))
  const { collector } = all[0] as (typeof all)[number]
  collector.watch(true)
  await shared.pass(6_000)
  return { time, shared, all, collector }
}

test('while somebody watches, each process reports, and all are seen', async () => {
  const { shared, all, collector } = await watched(['one', 'two', 'three'])
  for (const [i, key] of [
    [1, 'u42'],
    [1, 'u42'],
    [2, 'u7'],
  ] as const)
    await all[i]?.limiter.consume(key)
  await shared.pass(4_000)
  const { fleet } = collector.frame()
  expect(fleet.map(({ isThis }) => isThis)).toEqual([true, false, false])
  const counts = fleet.slice(1).map(({ limiters: [only] }) => [only?.allowed, only?.denied])
  expect(counts.sort()).toEqual([
    [1, 0],
    [1, 1],
  ])
  const keys = fleet.flatMap(({ limiters }) => limiters.flatMap(({ refusedKeys }) => refusedKeys))
  expect(keys).toEqual([{ key: 'u42', count: 1, error: 0 }])
})

const MASKED = expect.stringMatching(/^…~[0-9a-f]{4}$/)

test('if a store hides keys, a snapshot has only their hashes', async () => {
  const { shared, all, collector } = await watched(['one', 'two'], true)
  for (let i = 0; i < 2; i += 1) await all[1]?.limiter.consume('secret@example.com')
  await shared.pass(4_000)
  const other = collector.frame().fleet[1]?.limiters[0]?.refusedKeys
  expect(other).toMatchObject([{ key: MASKED, count: 1 }])
  const own = all[1]?.collector.frame().limiters[0]?.refusedKeys
  expect(own).toMatchObject([{ key: 'secret@example.com' }])
})

test('nor has it keys of a limiter with the same name as one on a store that hides keys', async () => {
  const { time, shared, collector } = await watched(['api'])
  const hiding = sharedStore(time)
  hiding.hide()
  const [hidden, other] = [hiding, shared].map((store) => limiterOn(store.view(), 'jobs'))
  collecting(time, [hidden as RateLimiter, other as RateLimiter])
  await shared.pass(6_000)
  for (let i = 0; i < 2; i += 1) await hidden?.consume('secret@example.com')
  await shared.pass(4_000)
  const told = collector.frame().fleet[1]?.limiters.flatMap(({ refusedKeys }) => refusedKeys)
  expect(told?.map(({ key }) => key)).toEqual([MASKED, MASKED])
})

test('watching costs a call every 3 s, and for each process two every 2 s; a little later, nothing', async () => {
  const { time, shared, collector } = await watched()
  shared.asked.length = 0
  await shared.pass(60_000)
  const counts = ['watch', 'report', 'news', 'reports', 'change'].map((what) => {
    return [what, shared.asked.filter((each) => each === what).length]
  })
  expect(Object.fromEntries(counts)).toEqual({
    ...{ watch: 20, report: 60, news: 60, reports: 30, change: 0 },
  })
  collector.watch(false)
  await shared.pass(15_000)
  shared.asked.length = 0
  await shared.pass(60_000)
  expect([shared.asked, time.timers]).toEqual([[], 0])
})

test('while nobody watches, nothing is asked', async () => {
  const time = fakeTime()
  const shared = sharedStore(time)
  for (let i = 0; i < 2; i += 1) started(time, shared.view())
  await shared.pass(60_000)
  expect([shared.asked, time.timers]).toEqual([[], 0])
})

test('a process that is gone is shown for at most 8 s', async () => {
  const { shared, all, collector } = await watched()
  expect(collector.frame().fleet).toHaveLength(2)
  all[1]?.collector.close()
  await shared.pass(11_000)
  expect(collector.frame().fleet).toHaveLength(1)
})

test('a store that is away is asked again, and its last answer is shown until it is too old', async () => {
  const { shared, collector } = await watched()
  const seen = async (ms: number) => {
    await shared.pass(ms)
    const { fleet, stores } = collector.frame()
    return [fleet.length, stores[0]?.answer]
  }
  expect(await seen(0)).toEqual([2, 'came'])
  shared.setAway(true)
  expect(await seen(4_000)).toEqual([2, 'missing'])
  expect(await seen(8_000)).toEqual([1, 'missing'])
  shared.setAway(false)
  expect(await seen(6_000)).toEqual([2, 'came'])
  // One that leaves a question open is silent once its last answer is old.
  shared.hang()
  expect((await seen(4_000))[1]).toBe('came')
  expect(await seen(8_000)).toEqual([1, 'missing'])
  // Nobody knows what holds for the next viewer before the store has answered again.
  collector.watch(false)
  await shared.pass(60_000)
  collector.watch(true)
  expect(await seen(0)).toEqual([1, 'asked'])
  expect(await seen(9_000)).toEqual([1, 'missing'])
})

const toggle = (kind: 'enable' | 'disable') => ({ kind, limiter: 'api', confirm: 'api' })

test('a limiter is switched off in all watched processes, and on again', async () => {
  const { time, shared, all, collector } = await watched(['api', 'api', 'api'])
  const other = started(time, shared.view(), 'other')
  const isOn = () => all.map(({ limiter }) => limiter.enabled)

  expect(await planned(collector, toggle('disable')).run()).toBeUndefined()
  expect(isOn()).toEqual([false, true, true])
  await shared.pass(3_000)
  expect(isOn()).toEqual([false, false, false])
  expect(other.limiter.enabled).toBe(true)
  await shared.pass(3_000)
  const states = collector.frame().fleet.map(({ limiters: [only] }) => only?.enabled)
  expect(states.sort()).toEqual([false, false, false, true])

  await planned(collector, toggle('enable')).run()
  await shared.pass(3_000)
  expect(isOn()).toEqual([true, true, true])
})

test('a process that starts later begins as its code says, and follows later changes', async () => {
  const { time, shared, all, collector } = await watched(['api'])
  await planned(collector, toggle('disable')).run()
  await shared.pass(6_000)
  const late = started(time, shared.view())
  await shared.pass(6_000)
  expect([all[0]?.limiter.enabled, late.limiter.enabled]).toEqual([false, true])
  await planned(collector, toggle('disable')).run()
  await shared.pass(3_000)
  expect(late.limiter.enabled).toBe(false)
})

test('a store whose settings do not support watching shows only this process', () => {
  const time = fakeTime()
  const { collector } = started(time, memoryStore())
  collector.watch(true)
  expect(collector.frame().fleet).toMatchObject([{ isThis: true }])
  expect(time.timers).toBe(0)
})
