// Settings that are kept in this process, for `livePolicies` on a memory store.

import type { Clock } from '../base/clock.js'
import {
  isCounted,
  REMEMBERED_CHANGES,
  type SettingChange,
  type Settings,
  type SettingsVersion,
} from '../settings.js'

/** All settings of a name. */
export interface Kept extends SettingsVersion {
  readonly restored: number
  readonly fields: Map<string, string>
  readonly changes: readonly SettingChange[]
}

const NONE: Kept = { id: '', version: 0, restored: 0, fields: new Map(), changes: [] }

/** Where settings are kept, by name. */
export interface KeptByName {
  get(name: string): Kept | undefined
  set(name: string, kept: Kept): unknown
}

export function memorySettings(clock: Clock, all: KeptByName = new Map()): Settings {
  const keptOf = (name: string): Kept => all.get(name) ?? NONE

  return {
    async news(name, since) {
      const { id, version, restored, changes } = keptOf(name)
      const base = { nowUs: clock.nowUs(), id, version, restored }
      return { ...base, changes: since === undefined ? changes : changesSince(keptOf(name), since) }
    },
    async page(name) {
      return { next: '0', fields: [...keptOf(name).fields] }
    },
    async change(name, { id, leadUs, field, value, most }) {
      const kept = keptOf(name)
      const was = kept.fields.get(field) ?? ''
      const nowUs = clock.nowUs()
      const change = { nowUs, activeUs: nowUs + leadUs, field, value, was }
      if (was === value) return { ...change, id: kept.id, version: kept.version, outcome: 'same' }
      const isNew = was === '' && isCounted(field)
      if (isNew && [...kept.fields.keys()].filter(isCounted).length >= most)
        return { ...change, id: kept.id, version: kept.version, outcome: 'full' }
      const fields = kept === NONE ? new Map<string, string>() : kept.fields
      if (value === '') fields.delete(field)
      else fields.set(field, value)
      const made = { ...change, id, version: kept.version + 1 }
      const changes = [...kept.changes, made].slice(-REMEMBERED_CHANGES)
      all.set(name, { ...kept, id, version: made.version, fields, changes })
      return { ...made, outcome: 'changed' }
    },
    async restore(name, over, { id, version, restored, fields, changes }) {
      const kept = keptOf(name)
      if (kept.id !== over.id || kept.version !== over.version) return false
      all.set(name, { id, version, restored, fields: new Map(fields), changes })
      return true
    },
  }
}

/** The changes since a version. Undefined: not all of them are remembered. */
function changesSince(
  { id, version, changes }: Kept,
  since: SettingsVersion,
): readonly SettingChange[] | undefined {
  if (since.version === version && since.id === id) return []
  if (since.version === 0) return changes[0]?.version === 1 ? changes : undefined
  const at = changes.findIndex((each) => each.version === since.version && each.id === since.id)
  return at < 0 ? undefined : changes.slice(at + 1)
}
