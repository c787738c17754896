// The contract of settings, for stores that have them: a part of the conformance suite.

import type {
  KeptSettings,
  SettingAnswer,
  SettingChange,
  SettingRequest,
  Settings,
} from '../../settings.js'
import type { FakeClock } from '../clock.js'

type SettingsCase = readonly [
  string,
  (settings: Settings, name: string, clock: FakeClock) => Promise<void>,
]

const LEAD_US = 1_500_000

/** Changes fields; the ids are `made-1`, `made-2` ... */
function setter(settings: Settings, name: string) {
  let made = 0
  return (field: string, value: string, request: Partial<SettingRequest> = {}) => {
    made += 1
    const id = `made-${made}`
    return settings.change(name, { id, leadUs: LEAD_US, field, value, most: 10, ...request })
  }
}

/** Settings as known by a process that writes them back. */
function kept(
  version: number,
  fields: KeptSettings['fields'],
  changes: readonly SettingChange[] = [],
): KeptSettings {
  return { id: `known-${version}`, version, restored: version - changes.length, fields, changes }
}

const NONE = { id: '', version: 0 }

export const SETTINGS_CASES: readonly SettingsCase[] = [
  [
    'settings: there are none at first',
    async (settings, name) => {
      const { id, version, restored, changes } = await settings.news(name)
      same([id, version, restored, changes], ['', 0, 0, []])
      same(await allOf(settings, name), [])
    },
  ],
  [
    'settings: a change has a version, an id, and an instant from which it holds',
    async (settings, name, clock) => {
      const set = setter(settings, name)
      const answer = await set('.a', '{"x":1}')
      const nowUs = clock.nowUs()
      const change = { nowUs, activeUs: nowUs + LEAD_US, field: '.a', value: '{"x":1}', was: '' }
      same(answer, { ...change, id: 'made-1', version: 1, outcome: 'changed' })
      same((await set('.a', '2')).was, '{"x":1}')
      const again = await set('.a', '2')
      same([again.outcome, again.id, again.version], ['same', 'made-2', 2])
      const now = { nowUs, id: 'made-2', version: 2, restored: 0 }
      same(await settings.news(name, { id: 'made-2', version: 2 }), { ...now, changes: [] })
      const second = { ...change, value: '2', was: '{"x":1}', id: 'made-2', version: 2 }
      const since = { id: 'made-1', version: 1 }
      same(await settings.news(name, since), { ...now, changes: [second] })
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
      const since = async (version: number, id = `made-${version}`) =>
        (await settings.news(name, { id, version })).changes?.map((change) => change.version)
      same(await since(103), [104, 105])
      same((await since(6))?.length, 99)
      same(await since(4), undefined)
      same(await since(0, ''), undefined)
      same(await since(104, 'other'), undefined)
      same(await since(105, 'other'), undefined)
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
    'settings: what was lost is written back, in place of the version that was seen and no other',
    async (settings, name) => {
      const fields = [
        ['.a', '1'],
        ['=b', '2'],
      ] as const
      same(await settings.restore(name, { id: 'x', version: 1 }, kept(7, fields)), false)
      same(await settings.restore(name, NONE, kept(7, fields)), true)
      same(await settings.restore(name, NONE, kept(9, [])), false)
      same(await settings.restore(name, { id: 'other', version: 7 }, kept(9, [])), false)
      const news = await settings.news(name, { id: 'known-6', version: 6 })
      same([news.id, news.version, news.restored, news.changes], ['known-7', 7, 7, undefined])
      same((await settings.news(name)).changes, [])
      same(await allOf(settings, name), fields.map((each) => [...each]).sort())
      same((await setter(settings, name)('=c', '3', { most: 1 })).outcome, 'full')
      same((await setter(settings, name)('.a', '2')).version, 8)
      const { restored } = await settings.news(name)
      same(restored, 7)
    },
  ],
  [
    'settings: changes that were made since a loss are remembered when the rest is written back',
    async (settings, name) => {
      const { outcome, ...change } = await setter(settings, name)('.a', '1')
      const since = { ...change, id: 'known-10', version: 10 }
      const all = kept(
        10,
        [
          ['.a', '1'],
          ['.b', '2'],
        ],
        [since],
      )
      same(await settings.restore(name, { id: 'made-1', version: 1 }, all), true)
      const { restored, changes } = await settings.news(name)
      same([outcome, restored, changes], ['changed', 9, [since]])
      same((await settings.news(name, { id: 'known-9', version: 9 })).changes, undefined)
      same((await settings.news(name, { id: 'known-10', version: 10 })).changes, [])
    },
  ],
  [
    'settings: a report of a process is kept until the next one, or until its time is over',
    async (settings, name, clock) => {
      const { report, reports } = settings
      if (report === undefined || reports === undefined) return
      const all = async (of = name) => {
        const kept = await reports(of)
        return kept.map(({ process, text }) => [process.slice(-3), text]).sort()
      }
      same(await all(), [])
      await report(name, 'one', 'a', 10_000)
      await report(name, 'two', '{"é":"😀"}', 10_000)
      await report(name, 'one', 'b', 10_000)
      same(await all(), [
        ['one', 'b'],
        ['two', '{"é":"😀"}'],
      ])
      same(await all(`${name}-other`), [])
      same((await settings.news(name)).version, 0)
      clock.advance(6_000)
      await report(name, 'one', 'c', 10_000)
      clock.advance(4_000)
      same(await all(), [['one', 'c']])
      await report(name, 'one', '', 10_000)
      same(await all(), [])
    },
  ],
  [
    'settings: many fields are read page by page, each of them',
    async (settings, name) => {
      const fields = Array.from({ length: 3_000 }, (_, i) => [`=f${i}`, String(i)] as const)
      await settings.restore(name, NONE, kept(1, fields))
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

/** @throws {Error} if the two differ */
function same(found: unknown, expected: unknown): void {
  const [is, should] = [found, expected].map((each) => JSON.stringify(sorted(each)))
  if (is !== should) throw new Error(`expected ${should}, got ${is}`)
}

/** Sorts the fields of objects, so that the store's order does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([field, of]) => [field, sorted(of)] as const)
  return Object.fromEntries(fields.sort())
}
