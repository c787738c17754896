// The contract of settings, for stores that have them: a part of the conformance suite.

import type { SettingAnswer, SettingRequest, Settings } from '../settings.js'
import type { FakeClock } from './clock.js'

type SettingsCase = readonly [
  string,
  (settings: Settings, name: string, clock: FakeClock) => Promise<void>,
]

const LEAD_US = 1_500_000

function setter(settings: Settings, name: string) {
  return (field: string, value: string, request: Partial<SettingRequest> = {}) =>
    settings.change(name, { id: 'made', leadUs: LEAD_US, field, value, most: 10, ...request })
}

export const SETTINGS_CASES: readonly SettingsCase[] = [
  [
    'settings: there are none at first',
    async (settings, name) => {
      const { id, version, changes } = await settings.news(name)
      same([id, version, changes], ['', 0, []])
      same(await allOf(settings, name), [])
    },
  ],
  [
    'settings: a change has a version, and an instant from which it holds',
    async (settings, name, clock) => {
      const set = setter(settings, name)
      const answer = await set('.a', '{"x":1}')
      const nowUs = clock.nowUs()
      const change = { nowUs, activeUs: nowUs + LEAD_US, field: '.a', value: '{"x":1}', was: '' }
      same(plain(answer), { ...change, version: 1, outcome: 'changed' })
      same((await set('.a', '2', { id: 'other' })).was, '{"x":1}')
      same((await set('.a', '2')).outcome, 'same')
      same(await settings.news(name, { id: 'made', version: 2 }), {
        nowUs,
        id: 'made',
        version: 2,
        changes: [],
      })
      const { changes = [] } = await settings.news(name, { id: 'made', version: 1 })
      same(changes.map(plain), [plain({ ...change, value: '2', was: '{"x":1}', version: 2 })])
      same(await allOf(settings, name), [['.a', '2']])
      same((await set('.a', '')).was, '2')
      same(await allOf(settings, name), [])
      same((await set('.a', '')).outcome, 'same')
    },
  ],
  [
    'settings: all names and texts stay apart',
    async (settings, name) => {
      const values = ['é😀', '"quoted"', '{}', '0', 'x'.repeat(1_000)]
      for (const [i, value] of values.entries()) {
        await setter(settings, name)(`=p:"${value}"`, value)
        await setter(settings, `${name}-${i}`)('.a', value)
      }
      same(await allOf(settings, name), values.map((each) => [`=p:"${each}"`, each]).sort())
      for (const [i, value] of values.entries())
        same(await allOf(settings, `${name}-${i}`), [['.a', value]])
    },
  ],
  [
    'settings: as many counted fields as there may be, and no more',
    async (settings, name) => {
      const set = setter(settings, name)
      const outcomes: SettingAnswer['outcome'][] = []
      for (const field of ['=a', '.x', '=b', '=c', '=a'])
        outcomes.push((await set(field, field, { most: 2 })).outcome)
      same(outcomes, ['changed', 'changed', 'changed', 'full', 'same'])
      await set('=a', '', { most: 2 })
      same((await set('=c', '1', { most: 2 })).outcome, 'changed')
      same((await set('=d', '1', { most: 2 })).outcome, 'full')
      same((await set('=c', '2', { most: 2 })).outcome, 'changed')
      same((await settings.news(name)).version, 6)
    },
  ],
  [
    'settings: some of the changes are remembered, and what is not is said',
    async (settings, name) => {
      const set = setter(settings, name)
      for (let i = 1; i <= 105; i += 1) await set(`.f${i % 3}`, String(i))
      const since = async (version: number, id = 'made') =>
        (await settings.news(name, { id, version })).changes?.map((change) => change.version)
      same(await since(103), [104, 105])
      same((await since(5))?.length, 100)
      same(await since(4), undefined)
      same(await since(104, 'other'), undefined)
      same(await since(106), undefined)
      same((await settings.news(name)).changes?.length, 100)
    },
  ],
  [
    'settings: who has seen none hears of the first changes',
    async (settings, name) => {
      const { id, version } = await settings.news(name)
      await setter(settings, name)('.a', '1')
      const { changes } = await settings.news(name, { id, version })
      same(changes?.length, 1)
    },
  ],
  [
    'settings: what was lost is restored, unless more is known or there are others',
    async (settings, name) => {
      const fields = [
        ['.a', '1'],
        ['=b', '2'],
      ] as const
      same(await settings.restore(name, { id: 'made', version: 7 }, fields), true)
      same(await settings.restore(name, { id: 'made', version: 7 }, []), false)
      same(await settings.restore(name, { id: 'other', version: 9 }, []), false)
      const news = await settings.news(name, { id: 'made', version: 6 })
      same([news.id, news.version, news.changes], ['made', 7, undefined])
      same(await allOf(settings, name), fields.map((each) => [...each]).sort())
      same((await setter(settings, name)('=c', '3', { most: 1 })).outcome, 'full')
      same((await setter(settings, name)('.a', '2')).version, 8)
      same(await settings.restore(name, { id: 'made', version: 9 }, [['.a', '3']]), true)
      same(await allOf(settings, name), [['.a', '3']])
    },
  ],
  [
    'settings: many fields are read page by page, each of them',
    async (settings, name) => {
      const fields = Array.from({ length: 3_000 }, (_, i) => [`=f${i}`, String(i)] as const)
      await settings.restore(name, { id: 'made', version: 1 }, fields)
      same((await allOf(settings, name)).length, 3_000)
    },
  ],
]

async function allOf(settings: Settings, name: string): Promise<unknown[]> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const page = await settings.page(name, cursor)
    for (const [field, value] of page.fields) fields.set(field, value)
    cursor = page.next
  } while (cursor !== '0')
  return [...fields].sort()
}

/** In one order, whatever the store's. */
function plain(value: object): object {
  return Object.fromEntries(Object.entries(value).sort())
}

/** @throws {Error} if the two differ */
function same(found: unknown, expected: unknown): void {
  const [is, should] = [found, expected].map((each) => JSON.stringify(sorted(each)))
  if (is !== should) throw new Error(`expected ${should}, got ${is}`)
}

function sorted(value: unknown): unknown {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isPlain ? plain(value) : value
}
