// The scripts of settings, which store live limits. They behave as the memory store, on the keys of
// the server; arguments and replies are those of a real server. test/settings-scripts.test.ts runs
// the cases that real servers must pass. Reports of processes are not kept.

import {
  type Kept,
  type KeptByName,
  memorySettings,
} from '../../../../packages/core/src/memory/settings.js'
import { pairsIn, REPORT } from '../../../../packages/core/src/redis/reports.js'
import { SETTINGS_SCRIPTS } from '../../../../packages/core/src/redis/settings.js'
import type { SettingChange, Settings } from '../../../../packages/core/src/settings.js'
import type { Keyspace } from './keyspace.js'

type Args = readonly string[]
type Reply = number | readonly unknown[]

export class SettingsScripts {
  readonly #settings: Settings
  #nowUs = 0

  constructor(keyspace: Keyspace) {
    const keys: KeptByName = {
      get(key) {
        const kept = keyspace.get<Kept>(key)
        // A copy, since it is written in place.
        return kept && { ...kept, fields: new Map(kept.fields) }
      },
      set: (key, kept) => keyspace.set(key, kept, Number.POSITIVE_INFINITY),
    }
    this.#settings = memorySettings({ nowUs: () => this.#nowUs }, keys)
  }

  /** Runs a script, by the server's clock. Its changes are made at once. */
  async run(source: string, keys: Args, [now = '', ...args]: Args, nowUs: number): Promise<Reply> {
    this.#nowUs = now === '' ? nowUs : Number(now)
    const run = SCRIPTS.get(source)
    return run === undefined ? 0 : run(this.#settings, keys[0] as string, args)
  }
}

/** Whether the script is one of settings, or of reports. */
export function isOfSettings(source: string): boolean {
  return SCRIPTS.has(source) || source === REPORT
}

type Script = (settings: Settings, key: string, args: Args) => Promise<Reply>

const SCRIPTS: ReadonlyMap<string, Script> = new Map<string, Script>([
  [SETTINGS_SCRIPTS.news, news],
  [SETTINGS_SCRIPTS.change, change],
  [SETTINGS_SCRIPTS.restore, restore],
  [SETTINGS_SCRIPTS.page, page],
])

async function news(settings: Settings, key: string, [id = '', version = '']: Args) {
  const since = version === '' ? undefined : { id, version: Number(version) }
  const { nowUs, changes, ...now } = await settings.news(key, since)
  const head = [String(nowUs), now.id, String(now.version), String(now.restored)]
  return [...head, changes === undefined ? '' : '1', ...(changes ?? []).map(textOf)]
}

async function page(settings: Settings, key: string, [cursor = '']: Args) {
  const { next, fields } = await settings.page(key, cursor)
  return [next, fields.flat()]
}

async function change(settings: Settings, key: string, args: Args) {
  const [id = '', leadUs, field = '', value = '', most] = args
  const asked = { id, leadUs: Number(leadUs), field, value, most: Number(most) }
  const { outcome, version, nowUs, activeUs, was, ...known } = await settings.change(key, asked)
  return [outcome, known.id, ...[version, nowUs, activeUs].map(String), was]
}

async function restore(settings: Settings, key: string, [overId = '', over, ...flat]: Args) {
  const all = pairsIn(flat)
  const head = new Map(all)
  const number = (field: string): number => Number(head.get(field))
  const isChange = ([field]: readonly string[]): boolean => field?.startsWith('~') === true
  const changes = all.filter(isChange).map(([, text]) => changeOf(text))
  const kept = {
    id: head.get('id') ?? '',
    version: number('version'),
    restored: number('restored'),
    fields: all.filter(([field]) => /^[.=]/.test(field)),
    changes: changes.sort((one, two) => one.version - two.version),
  }
  const done = await settings.restore(key, { id: overId, version: Number(over) }, kept)
  return done ? 1 : 0
}

function textOf({ version, nowUs, activeUs, field, value, was, id }: SettingChange): string {
  return [version, nowUs, activeUs, field, value, was, id].join('\n')
}

function changeOf(text: string): SettingChange {
  const [version, nowUs, activeUs, field = '', value = '', was = '', id = ''] = text.split('\n')
  const numbers = { version: Number(version), nowUs: Number(nowUs), activeUs: Number(activeUs) }
  return { ...numbers, id, field, value, was }
}
