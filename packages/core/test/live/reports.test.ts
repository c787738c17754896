// What a process reports about its live policies: how often, how much, and what happens if that
// fails.

import { expect, onTestFinished, test, vi } from 'vitest'
import type { LivePolicies } from '../../src/entries/live.js'
import { memoryStore, type Policy, slidingWindow } from '../../src/index.js'
import { livePoliciesIn } from '../../src/live/live-policies.js'
import { processesOf } from '../../src/live/reports.js'
import type { Settings } from '../../src/settings.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'

const api = (limit: number) => slidingWindow({ name: 'api', limit, window: '1m' })

interface Bench {
  readonly time: VirtualTime
  /** What was reported, and when, in ms. */
  readonly reported: (readonly [ms: number, text: string])[]
  readonly settings: Settings
  readonly live: LivePolicies
}

let runs = 0

function bench(defaults: Record<string, Policy>, deliver: () => Promise<void>): Bench {
  const time = virtualTime()
  const store = memoryStore({ clock: time })
  const reported: [number, string][] = []
  const settings: Settings = {
    ...(store.settings as Settings),
    report(_, __, text) {
      reported.push([time.nowMs(), text])
      return deliver()
    },
    reports: async () => [{ process: 'host-1-x', text: reported.at(-1)?.[1] ?? '' }],
  }
  runs += 1
  const options = { name: `reports-${runs}`, defaults }
  const live = livePoliciesIn(time, { ...store, settings }, options)
  onTestFinished(() => live.close())
  return { time, reported, settings, live }
}

const delivered = async () => {}

test('changes are reported within a second and a half, and the state every 5 s', async () => {
  const { time, reported, live } = bench({ free: api(10) }, delivered)
  await time.advance(20_000)
  expect(reported.map(([ms]) => ms)).toEqual([0, 5_000, 10_000, 15_000, 20_000])
  reported.length = 0
  for (let i = 0; i < 40; i += 1) {
    await live.override(`u${i}`, api(i))
    await time.advance(100)
  }
  expect(reported.length).toBeLessThanOrEqual(4)
  await time.advance(3_000)
  expect(JSON.parse(reported.at(-1)?.[1] as string)).toEqual({
    version: 40,
    pending: 0,
    isCurrent: true,
    defaults: { free: { algorithm: 'sliding-window', name: 'api', limit: 10, window: '1m' } },
    isWhole: true,
    refused: {},
  })
  live.close()
  expect(reported.at(-1)?.[1]).toBe('')
})

test('a thousand policies and refusals are reported in part, in 20,000 characters', async () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `plan-${i}`)
  const defaults = Object.fromEntries(names.map((name, i) => [name, api(i)]))
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { time, reported, settings, live } = bench(defaults, delivered)
  for (const [i, name] of names.entries()) {
    const request = { id: `id-${i}`, leadUs: 0, most: 0, value: 'rubbish '.repeat(100) }
    await settings.change(`reports-${runs}`, { ...request, field: `.${name}` })
  }
  await time.advance(3_000)
  expect(live.status().refused).toBe(1_000)
  expect(reported.at(-1)?.[1].length).toBeLessThan(20_000)
  const [one] = await processesOf({ settings, name: '', time })
  expect(one).toMatchObject({ isWhole: false, version: 1_000 })
  expect(one?.refused).toHaveLength(10)
  expect(one?.defaults['plan-7']?.limit).toBe(7)
})

test('a report that fails causes one warning, and the policies stay as before', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { time, live } = bench({ free: api(10) }, () => Promise.reject(new Error('no')))
  await live.set('free', api(20))
  await time.advance(30_000)
  expect(live.for('free').limit).toBe(20)
  expect(live.status().isCurrent).toBe(true)
  const codes = warn.mock.calls.map(([, options]) => (options as { code: string }).code)
  expect(codes).toEqual(['WEIR_SETTINGS_UNREPORTED'])
})

test('while the store cannot be read, that is the only warning', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  let isAway = false
  const fail = async () => {
    if (isAway) throw new Error('away')
  }
  const { time, settings, live } = bench({ free: api(10) }, fail)
  const { news } = settings
  settings.news = async (...args) => {
    await fail()
    return news(...args)
  }
  await time.advance(10_000)
  isAway = true
  await time.advance(30_000)
  expect(live.status().isCurrent).toBe(false)
  isAway = false
  await time.advance(10_000)
  expect(live.status().isCurrent).toBe(true)
  const codes = warn.mock.calls.map(([, options]) => (options as { code: string }).code)
  expect(codes).toEqual(['WEIR_SETTINGS_UNREAD'])
})

test('a text that is no report of a process is ignored', async () => {
  const good = { version: 3, pending: 0, isCurrent: true, isWhole: true, refused: {} }
  const future = { algorithm: 'lock-out', name: 'log-in' }
  const texts = [
    '',
    '{}',
    'null',
    '[]',
    '{"defaults":null}',
    JSON.stringify({ ...good, defaults: { free: { algorithm: 'gcra' }, next: future } }),
  ]
  const settings = {
    reports: async () => texts.map((text, i) => ({ process: `p${i}`, text })),
  } as unknown as Settings
  expect(await processesOf({ settings, name: 'plans', time: virtualTime() })).toEqual([
    { ...good, process: 'p5', defaults: {}, isWhole: false, refused: [] },
  ])
})

test('on a store without reports, only this process is listed', async () => {
  const time = virtualTime()
  const live = livePoliciesIn(time, memoryStore({ clock: time }), {
    name: 'alone',
    defaults: { free: api(10) },
  })
  onTestFinished(() => live.close())
  await live.override('u1', api(0))
  await time.advance(2_000)
  expect(await live.list()).toMatchObject({
    version: 1,
    settings: [{ kind: 'key', name: 'api', key: 'u1', policy: api(0) }],
    processes: [{ version: 1, isCurrent: true, defaults: { free: api(10) }, refused: [] }],
  })
  expect(await live.rollback(0)).toMatchObject([{ kind: 'key', policy: undefined, version: 2 }])
})
