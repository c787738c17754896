// Settings in this process: `livePolicies` on a memory store.

import type { Clock } from '../base/clock.js'
import {
  isCounted,
  REMEMBERED_CHANGES,
  type SettingChange,
  type Settings,
  type SettingsVersion,
} from '../settings.js'

interface Kept extends SettingsVersion {
  id: string
  version: number
  readonly fields: Map<string, string>
  changes: SettingChange[]
}

export function memorySettings(clock: Clock): Settings {
  const all = new Map<string, Kept>()
  const none = (): Kept => ({ id: '', version: 0, fields: new Map(), changes: [] })
  const keptOf = (name: string): Kept => all.get(name) ?? none()

  return {
    async news(name, since) {
      const { id, version, changes } = keptOf(name)
      const base = { nowUs: clock.nowUs(), id, version }
      if (since === undefined) return { ...base, changes: [...changes] }
      const isSame = since.id === id || since.version === 0
      const isKnown = isSame && since.version <= version
      const first = changes[0]?.version ?? version + 1
      if (!isKnown || since.version + 1 < first) return { ...base, changes: undefined }
      return { ...base, changes: changes.filter((each) => each.version > since.version) }
    },
    async page(name) {
      return { next: '0', fields: [...keptOf(name).fields] }
    },
    async change(name, { id, leadUs, field, value, most }) {
      const kept = keptOf(name)
      const { fields, version } = kept
      const was = fields.get(field) ?? ''
      const nowUs = clock.nowUs()
      const change = { nowUs, activeUs: nowUs + leadUs, field, value, was }
      if (was === value) return { ...change, version, outcome: 'same' }
      const isNew = was === '' && isCounted(field)
      if (isNew && [...fields.keys()].filter(isCounted).length >= most)
        return { ...change, version, outcome: 'full' }
      all.set(name, kept)
      kept.id ||= id
      kept.version += 1
      if (value === '') fields.delete(field)
      else fields.set(field, value)
      const made = { ...change, version: kept.version }
      kept.changes = [...kept.changes, made].slice(-REMEMBERED_CHANGES)
      return { ...made, outcome: 'changed' }
    },
    async restore(name, { id, version }, fields) {
      const kept = keptOf(name)
      if (kept.id !== '' && (kept.id !== id || kept.version >= version)) return false
      all.set(name, { id, version, fields: new Map(fields), changes: [] })
      return true
    },
  }
}
