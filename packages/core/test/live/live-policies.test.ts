// Policies that change while a fleet runs, in virtual time: several processes on one store.

import { expect, onTestFinished, test, vi } from 'vitest'
import { policyText } from '../../src/algorithms/policy-from.js'
import type { LiveChange, LivePolicies } from '../../src/entries/live.js'
import {
  fixedWindow,
  gcra,
  type MemoryStore,
  memoryStore,
  RateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { livePolicies, livePoliciesIn } from '../../src/live/live-policies.js'
import type { KeptSettings, Settings } from '../../src/settings.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'

const defaults = {
  free: slidingWindow({ name: 'api', limit: 10, window: '1m' }),
  pro: slidingWindow({ name: 'api', limit: 100, window: '1m' }),
  'log-in': fixedWindow({ name: 'log-in', limit: 5, window: '1h' }),
}
type Name = keyof typeof defaults
const api = (limit: number, window: '1m' | '2m' = '1m') =>
  slidingWindow({ name: 'api', limit, window })

interface Bench {
  readonly time: VirtualTime
  readonly store: MemoryStore
  readonly warned: () => readonly string[]
  live(store?: Store): LivePolicies<Name> & {
    readonly changes: LiveChange[]
    readonly failures: Error[]
  }
}

let run = 0

function bench(): Bench {
  const time = virtualTime()
  const store = memoryStore({ clock: time })
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const open: LivePolicies<Name>[] = []
  run += 1
  const name = `plans-${run}`
  onTestFinished(() => {
    for (const each of open) each.close()
    expect(time.timers).toBe(0)
    warn.mockRestore()
  })
  return {
    time,
    store,
    warned: () => warn.mock.calls.map(([, options]) => (options as { code: string }).code),
    live(own = store) {
      const changes: LiveChange[] = []
      const failures: Error[] = []
      const made = livePoliciesIn(time, own, {
        name,
        defaults,
        onChange: (change) => changes.push(change),
        onFailure: (error) => failures.push(error),
      })
      open.push(made)
      return Object.assign(made, { changes, failures })
    },
  }
}

/** A store whose settings call this function first. */
function behind(store: Store, before: () => Promise<void> | void): Store {
  const { settings } = store
  const slow = Object.fromEntries(
    Object.entries(settings as object).map(([method, call]) => [
      method,
      async (...args: unknown[]) => {
        await before()
        return (call as (...given: unknown[]) => unknown)(...args)
      },
    ]),
  )
  return { ...store, settings: slow as unknown as NonNullable<Store['settings']> }
}

test('a change takes effect in all processes at one instant, 1.5 s after it was made, and not before', async () => {
  const { time, live } = bench()
  const fleet = [live()]
  for (let i = 0; i < 3; i += 1) {
    await time.advance(137)
    fleet.push(live())
  }
  await time.advance(2_000)
  const answer = await (fleet[0] as (typeof fleet)[0]).set('free', api(20))
  expect(answer).toMatchObject({ version: 1, isChanged: true, isNewCounter: false })
  expect(answer.activeAtMs - answer.madeAtMs).toBe(1_500)
  await time.advance(1_499)
  expect(fleet.map((each) => each.for('free').limit)).toEqual([10, 10, 10, 10])
  await time.advance(1)
  expect(fleet.map((each) => each.for('free').limit)).toEqual([20, 20, 20, 20])
  for (const { changes } of fleet) {
    expect(changes).toEqual([
      expect.objectContaining({ version: 1, kind: 'policy', name: 'free', was: undefined }),
    ])
    expect(changes[0]?.lateMs).toBe(0)
  }
  expect(fleet.map((each) => each.status().version)).toEqual([1, 1, 1, 1])
})

test('a process that starts within the lead changes at the same instant as the others', async () => {
  const { time, live } = bench()
  const first = live()
  await first.set('pro', api(50))
  await time.advance(3_000)
  await first.set('pro', api(70))
  await first.set('pro', api(80))
  await time.advance(1_000)
  const late = live()
  await time.advance(100)
  expect([late.for('pro').limit, late.status().version, late.status().pending]).toEqual([50, 1, 2])
  await time.advance(399)
  expect(late.for('pro').limit).toBe(50)
  await time.advance(1)
  expect([late.for('pro').limit, first.for('pro').limit]).toEqual([80, 80])
})

test('a policy is the same object until it changes, and so is the function for each name', async () => {
  const { time, live } = bench()
  const limits = live()
  const before = limits.for('pro')
  await time.advance(5_000)
  expect(limits.for('pro')).toBe(before)
  expect(limits.policy('pro')).toBe(limits.policy('pro'))
  await limits.set('free', api(11))
  await limits.override('u1', api(12))
  await time.advance(5_000)
  expect(limits.for('pro')).toBe(before)
  expect(limits.for('pro', 'u1')).toBe(limits.for('free', 'u1'))
  expect(Object.isFrozen(limits.for('pro', 'u1'))).toBe(true)
})

test('counts continue if the time scale is equal, and set says so if it is not', async () => {
  const { time, store, live } = bench()
  const limits = live()
  const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy('free') })
  for (let i = 0; i < 8; i += 1) await limiter.consume('u1')
  expect(await limits.set('free', api(20))).toMatchObject({ isNewCounter: false })
  await time.advance(1_500)
  expect(await limiter.peek('u1')).toMatchObject({ limit: 20, remaining: 12 })
  expect(await limits.set('free', api(20, '2m'))).toMatchObject({ isNewCounter: true })
  await time.advance(1_500)
  expect(await limiter.peek('u1')).toMatchObject({ limit: 20, remaining: 20 })
  expect(await limits.unset('free')).toMatchObject({ isNewCounter: true, policy: undefined })
  await time.advance(1_500)
  expect(limits.for('free')).toBe(defaults.free)
  expect((await limiter.peek('u1')).remaining).toBe(2)
})

test('an override applies to policies of its name alone, until it is removed', async () => {
  const { time, live } = bench()
  const limits = live()
  await limits.override({ prefix: 'org-7:' }, api(30))
  await limits.override('org-7:ann', api(50))
  await limits.override('boss', unlimited({ name: 'api' }))
  await time.advance(1_500)
  const keys = ['ann', 'org-7:bob', 'org-7:ann', 'boss']
  const limitsOf = () => keys.map((key) => limits.for('free', key).limit)
  expect(limitsOf()).toEqual([10, 30, 50, Number.POSITIVE_INFINITY])
  for (const key of keys) expect(limits.for('log-in', key)).toBe(defaults['log-in'])
  await limits.remove('org-7:ann', 'api')
  await limits.remove({ prefix: 'org-7:' }, 'api')
  await limits.remove('boss', 'api')
  await time.advance(1_500)
  expect(limitsOf()).toEqual([10, 10, 10, 10])
})

test('an override of a number applies to the same key as a text', async () => {
  const { time, live } = bench()
  const limits = live()
  await limits.override('42', api(50))
  await limits.override({ prefix: '7' }, api(30))
  await time.advance(1_500)
  for (const key of ['42', 42, 42n]) expect(limits.for('free', key).limit).toBe(50)
  expect(limits.policy('free')(77).limit).toBe(30)
  expect(limits.for('free', 8)).toBe(defaults.free)
})

test('the history has the last changes, the latest first', async () => {
  const { live } = bench()
  const limits = live()
  for (let limit = 1; limit <= 120; limit += 1) await limits.set('free', api(limit))
  const history = await limits.history()
  expect(history).toHaveLength(100)
  expect(history[0]).toMatchObject({ version: 120, policy: api(120), was: api(119) })
  expect(history[99]).toMatchObject({ version: 21 })
  expect(await limits.set('free', api(120))).toMatchObject({ isChanged: false, version: 120 })
})

test('a process that missed more changes than are remembered reads everything', async () => {
  const { time, live, store } = bench()
  let isAway = false
  const away = live(
    behind(store, () => {
      if (isAway) throw new Error('no connection')
    }),
  )
  const other = live()
  await time.advance(1_000)
  isAway = true
  for (let i = 0; i < 150; i += 1) await other.override(`u${i}`, api(i))
  await other.set('pro', api(500))
  await time.advance(5_000)
  expect(away.status()).toMatchObject({ version: 0, overrides: 0, isCurrent: false })
  expect(away.for('pro')).toBe(defaults.pro)
  expect(away.failures).toHaveLength(1)
  isAway = false
  await time.advance(1_000)
  expect(away.status()).toMatchObject({ version: 151, overrides: 150, isCurrent: true })
  expect(away.for('pro', 'u7').limit).toBe(7)
  expect(away.for('pro').limit).toBe(500)
})

test('a process that hears of a change too late reports by how much', async () => {
  const { time, live, store } = bench()
  let isAway = false
  const away = live(
    behind(store, () => {
      if (isAway) throw new Error('no connection')
    }),
  )
  const other = live()
  await time.advance(1_000)
  isAway = true
  await other.set('free', api(20))
  await time.advance(4_000)
  isAway = false
  await time.advance(500)
  expect(away.changes[0]?.lateMs).toBeGreaterThan(2_000)
  expect(other.changes[0]?.lateMs).toBe(0)
})

test('without the store the defaults apply, with one warning, until it can be read', async () => {
  const { time, live, store, warned } = bench()
  let isAway = true
  const limits = live(
    behind(store, () => {
      if (isAway) throw new Error('no connection')
    }),
  )
  await live().set('free', api(20))
  expect(await time.settle(limits.refresh())).toBe(false)
  await time.advance(10_000)
  expect(limits.for('free')).toBe(defaults.free)
  expect(limits.status()).toMatchObject({ heardMsAgo: undefined, isCurrent: false })
  expect(warned().filter((code) => code === 'WEIR_SETTINGS_UNREAD')).toHaveLength(1)
  isAway = false
  expect(await time.settle(limits.refresh())).toBe(true)
  expect(limits.for('free').limit).toBe(20)
})

const NONE = { id: '', version: 0 }

function kept(version: number, fields: KeptSettings['fields']): KeptSettings {
  return { id: 'x', version, restored: version, fields, changes: [] }
}

const text = (limit: number) => policyText(api(limit))
const logIn = (limit: number) => fixedWindow({ name: 'log-in', limit, window: '1h' })
const logInText = (limit: number) => policyText(logIn(limit))

let planted = 0

/** Changes a field, bypassing all checks. */
async function plant(store: Store, name: string, field: string, value: string): Promise<void> {
  planted += 1
  const change = { id: `planted-${planted}`, leadUs: 0, field, value, most: 10 }
  await store.settings?.change(name, change)
}

test.each([
  'rubbish',
  '{"algorithm":"sliding-window","name":"api","limit":1,"limit":1000000,"window":"1m"}',
  '{"algorithm":"sliding-window","name":"api","limit":-1,"window":"1m"}',
  '{"algorithm":"sliding-window","name":"api","limit":5,"window":"1m","bonus":1}',
  '{"algorithm":"sliding-window","name":"other","limit":5,"window":"1m"}',
  '{"algorithm":"sliding-window","limit":5,"window":"1m"}',
  '{"algorithm":"gcra","name":"api","limit":5,"period":"1m"}',
  '{"algorithm":"unlimited","name":"api"}',
  '{"algorithm":"constructor","name":"api"}',
  '[]',
  'null',
  `{"algorithm":"sliding-window","name":"api","limit":5,"window":"1m"}${' '.repeat(1_000)}`,
])('an invalid stored value leaves the last valid one, with a warning: %s', async (value) => {
  const { time, live, store, warned } = bench()
  const limits = live()
  await limits.set('free', api(20))
  await limits.override('u1', api(30))
  await time.advance(2_000)
  const name = `plans-${run}`
  await plant(store, name, '.free', value)
  await plant(
    store,
    name,
    '=api:"u1"',
    value === '{"algorithm":"unlimited","name":"api"}' ? '{}' : value,
  )
  await time.advance(2_000)
  expect([limits.for('free').limit, limits.for('free', 'u1').limit]).toEqual([20, 30])
  expect(limits.status().refused).toBe(2)
  expect(warned()).toContain('WEIR_SETTING_REFUSED')
  const fresh = live()
  await time.advance(100)
  expect([fresh.for('free'), fresh.for('free', 'u1')]).toEqual([defaults.free, defaults.free])
  await limits.set('free', api(25))
  await limits.remove('u1', 'api')
  await time.advance(1_500)
  expect([fresh.for('free').limit, fresh.status().refused]).toEqual([25, 0])
})

test('fields of other versions of an application are left alone', async () => {
  const { time, live, store, warned } = bench()
  const limits = live()
  const name = `plans-${run}`
  await plant(store, name, '.enterprise', 'rubbish')
  await plant(store, name, '=other:"u1"', 'rubbish')
  await plant(store, name, '=api:u1', 'rubbish')
  await time.advance(1_000)
  expect(limits.status()).toMatchObject({ version: 3, refused: 0, overrides: 0 })
  expect(warned()).toEqual([])
  expect(limits.changes).toEqual([])
})

/** A store that can lose its settings, and one that some processes cannot reach. */
function losing(time: VirtualTime, store: MemoryStore) {
  let now = store.settings as Settings
  const settings: Settings = {
    news: (...args) => now.news(...args),
    page: (...args) => now.page(...args),
    change: (...args) => now.change(...args),
    restore: (...args) => now.restore(...args),
  }
  return {
    store: { ...store, settings } as Store,
    /** @returns the settings that are there afterwards */
    lose(): Settings {
      now = memoryStore({ clock: time }).settings as Settings
      return now
    },
  }
}

test('after a loss, later changes stay, and everything else comes back', async () => {
  const { time, store, live, warned } = bench()
  const lossy = losing(time, store)
  const limits = live(lossy.store)
  await limits.set('free', api(20))
  await limits.override('abuser', api(0))
  await limits.override('gone', api(1))
  await time.advance(2_000)
  await limits.set('pro', api(200))
  await time.advance(700)
  lossy.lose()
  const { version } = await limits.set('free', api(7))
  await limits.override('gone', api(2))
  await limits.remove('gone', 'api')
  expect(version).toBe(1)
  await time.advance(600)
  // The later change has not taken effect yet, nor has the one from before the loss.
  const fresh = live(lossy.store)
  await time.advance(100)
  expect([fresh.for('free').limit, fresh.for('pro').limit]).toEqual([20, 100])
  await time.advance(2_000)
  for (const each of [limits, fresh]) {
    expect([each.for('free').limit, each.for('pro').limit]).toEqual([7, 200])
    expect([each.for('free', 'abuser').limit, each.for('free', 'gone').limit]).toEqual([0, 7])
    expect(each.status()).toMatchObject({ version: 7, isCurrent: true, overrides: 1 })
  }
  expect((await limits.history()).map((each) => [each.version, each.was?.limit])).toEqual([
    [7, 2],
    [6, 1],
    [5, 20],
    [4, undefined],
  ])
  expect(warned()).toEqual(['WEIR_SETTINGS_LOST'])
})

test.each([
  ['before', ['newer', 'older']],
  ['after', ['older', 'newer']],
])(
  'after a loss the process with the highest version is believed if it writes back %s another',
  async (_, order) => {
    const { time, store, live } = bench()
    const lossy = losing(time, store)
    const away = new Set<string>()
    const [older, newer] = ['older', 'newer'].map((who) => {
      return live(
        behind(lossy.store, () => {
          if (away.has(who)) throw new Error('no connection')
        }),
      )
    }) as unknown as readonly [LivePolicies<Name>, LivePolicies<Name>]
    await newer.set('free', api(20))
    await time.advance(2_000)
    away.add('older')
    await newer.override('abuser', api(0))
    await newer.set('log-in', logIn(2))
    await time.advance(2_000)
    away.add('newer')
    lossy.lose()
    await plant(lossy.store, `plans-${run}`, '.pro', text(200))
    await plant(lossy.store, `plans-${run}`, '.log-in', logInText(3))
    for (const who of order) {
      away.delete(who)
      await time.advance(1_000)
    }
    await plant(lossy.store, `plans-${run}`, '.free', text(30))
    await time.advance(1_000)
    const fresh = live(lossy.store)
    await time.advance(100)
    for (const each of [older, newer, fresh]) {
      expect([each.for('free').limit, each.for('pro').limit, each.for('log-in').limit]).toEqual([
        30, 200, 3,
      ])
      expect(each.for('free', 'abuser').limit).toBe(0)
      expect(each.status()).toMatchObject({ version: 6, isCurrent: true })
    }
  },
)

test('a replica that lacks the last changes gets them, beside one with the same number', async () => {
  const { time, store, live, warned } = bench()
  const lossy = losing(time, store)
  const limits = live(lossy.store)
  await limits.set('free', api(20))
  await time.advance(2_000)
  const {
    id,
    version,
    changes = [],
  } = await (lossy.store.settings as Settings).news(`plans-${run}`)
  await limits.set('pro', api(200))
  await limits.override('abuser', api(0))
  await time.advance(2_000)
  const fields = [['.free', text(20)]] as const
  await lossy.lose().restore(`plans-${run}`, NONE, { id, version, restored: 0, fields, changes })
  await limits.set('log-in', logIn(2))
  await limits.set('pro', api(300))
  await time.advance(3_000)
  const fresh = live(lossy.store)
  await time.advance(100)
  for (const each of [limits, fresh]) {
    expect([each.for('free').limit, each.for('pro').limit, each.for('log-in').limit]).toEqual([
      20, 300, 2,
    ])
    expect(each.for('free', 'abuser').limit).toBe(0)
    expect(each.status().version).toBe(5)
  }
  expect(warned()).toEqual(['WEIR_SETTINGS_LOST'])
})

test('if more than 100 changes were made after a loss, the new settings stay', async () => {
  const { time, store, live, warned } = bench()
  const lossy = losing(time, store)
  const limits = live(lossy.store)
  await limits.set('pro', api(200))
  await limits.set('free', api(20))
  await time.advance(2_000)
  lossy.lose()
  for (let i = 1; i <= 101; i += 1) await plant(lossy.store, `plans-${run}`, '.free', text(i))
  await time.advance(2_000)
  expect([limits.for('free').limit, limits.for('pro')]).toEqual([101, defaults.pro])
  expect(warned()).toEqual(['WEIR_SETTINGS_LOST'])
})

test('a process that cannot follow the changes reports that it is not current, until it can', async () => {
  const { time, store, live } = bench()
  let made = 0
  let isImporting = false
  const follower = live(
    behind(store, async () => {
      const until = isImporting ? made + 110 : made
      while (made < until) {
        made += 1
        await plant(store, `plans-${run}`, '.pro', text(made))
      }
    }),
  )
  await time.advance(1_000)
  expect(follower.status().isCurrent).toBe(true)
  isImporting = true
  await time.advance(3_000)
  expect(follower.status()).toMatchObject({ isCurrent: false, version: 0 })
  expect(follower.status().heardMsAgo).toBeLessThanOrEqual(500)
  expect(follower.failures.map(({ message }) => message)).toEqual([
    'they change too fast to be read',
  ])
  isImporting = false
  await time.advance(500)
  expect(follower.status()).toMatchObject({ isCurrent: true, version: made })
})

test("an hour's step back of the store’s clock delays a change by at most 3 s", async () => {
  const time = virtualTime()
  let stepUs = 0
  const clock = { nowUs: () => time.nowUs() + stepUs }
  const store = memoryStore({ clock })
  const limits = livePoliciesIn(time, store, { name: 'stepping', defaults })
  await time.advance(1_000)
  await limits.set('free', api(20))
  stepUs = -3_600_000_000
  await time.advance(3_500)
  expect(limits.for('free').limit).toBe(20)
  limits.close()
})

test('at most 10,000 overrides', async () => {
  const { time, live, store } = bench()
  const limits = live()
  const fields = Array.from({ length: 10_000 }, (_, i) => [`=api*"p${i}:"`, text(1)] as const)
  await store.settings?.restore(`plans-${run}`, NONE, kept(5, fields))
  await time.advance(1_000)
  expect(limits.status().overrides).toBe(10_000)
  expect(limits.for('free', 'p9999:x').limit).toBe(1)
  await expect(limits.override('u1', api(1))).rejects.toMatchObject({
    code: 'WEIR_TOO_MANY_OVERRIDES',
  })
  await limits.override({ prefix: 'p7:' }, api(2))
  await limits.remove({ prefix: 'p8:' }, 'api')
  expect(await limits.override('u1', api(1))).toMatchObject({ isChanged: true })
})

test('far more fields than Weir writes are not read into memory', async () => {
  const { time, live, store } = bench()
  const fields = Array.from({ length: 60_000 }, (_, i) => [`=x:"${i}"`, '{}'] as const)
  await store.settings?.restore(`plans-${run}`, NONE, kept(9, fields))
  const fresh = live()
  await time.advance(500)
  expect(await time.settle(fresh.refresh())).toBe(false)
  expect(fresh.for('free')).toBe(defaults.free)
  expect(fresh.status().isCurrent).toBe(false)
})

test('invalid input is refused where it is passed, and nothing is stored', async () => {
  const { live, store } = bench()
  const limits = live()
  const right = api(5)
  const given = (changed: () => Promise<unknown>, code: string) =>
    expect(changed()).rejects.toMatchObject({ code })
  const invalid = 'WEIR_INVALID_POLICY'
  await given(() => limits.set('fre' as Name, right), 'WEIR_INVALID_NAME')
  await given(() => limits.set('free', slidingWindow({ limit: 5, window: '1m' })), invalid)
  await given(() => limits.set('free', defaults['log-in']), invalid)
  await given(() => limits.set('free', gcra({ name: 'api', limit: 5, period: '1m' })), invalid)
  await given(() => limits.set('free', unlimited({ name: 'api' })), invalid)
  await given(() => limits.set('free', { limit: 5 } as never), invalid)
  await given(() => limits.set('free', undefined as never), invalid)
  await given(() => limits.set('free', { ...right, signature: 'forged' } as never), invalid)
  await given(() => limits.override('', right), 'WEIR_INVALID_KEY')
  await given(() => limits.override({ prefix: '' }, right), 'WEIR_INVALID_KEY')
  await given(() => limits.override({ prefix: 'x'.repeat(513) }, right), 'WEIR_INVALID_KEY')
  await given(() => limits.override('x'.repeat(8_193), right), 'WEIR_INVALID_KEY')
  await given(() => limits.override(null as never, right), 'WEIR_INVALID_KEY')
  await given(() => limits.override('u1', unlimited({ name: 'else' })), 'WEIR_INVALID_NAME')
  await given(() => limits.remove('u1'), 'WEIR_INVALID_NAME')
  expect(() => limits.for('fre' as Name)).toThrow('one of "free", "pro", "log-in"')
  expect(() => limits.policy('fre' as Name)).toThrow('one of "free", "pro", "log-in"')
  expect(await limits.history()).toEqual([])

  const made =
    (options: object, own: unknown = store) =>
    () => {
      livePolicies(own as Store, options as never).close()
    }
  expect(made({ name: 'a', defaults }, {})).toThrow('has settings')
  expect(made({ name: 'a b', defaults })).toThrow('name of live policies')
  expect(made({ name: 'a', defaults: {} })).toThrow('a policy for each name')
  expect(made({ name: 'a', defaults: { a: slidingWindow({ limit: 5, window: '1m' }) } })).toThrow(
    'give it a name',
  )
  const two = { a: right, b: tokenBucket({ name: 'api', capacity: 5, refill: 1, every: '1s' }) }
  expect(made({ name: 'a', defaults: two })).toThrow('the algorithm sliding-window')
  expect(made({ name: 'a', defaults, policies: {} })).toThrow('policies')
})

test('options in the place of the store are what the error is about', () => {
  const store = memoryStore()
  expect(() =>
    livePolicies({ store, name: 'plans', defaults } as never, undefined as never),
  ).toThrow(
    'store is { store, name, defaults }; give redisStore(...), memoryStore(), or one that has settings',
  )
})
