// The names of fields in the settings: `.<name>` is a named policy, `=<policy's name>:<key>` the
// override of a key, `=<policy's name>*<prefix>` the override of all keys with a prefix. Keys are
// JSON, so that a field is one line of text whatever its key contains.

import { isCounted } from '../settings.js'

export type Field =
  | { readonly kind: 'policy'; readonly name: string }
  | { readonly kind: 'key' | 'prefix'; readonly name: string; readonly key: string }

export type OverrideField = Extract<Field, { readonly key: string }>

export function textOfField(field: Field): string {
  if (field.kind === 'policy') return `.${field.name}`
  return `=${field.name}${field.kind === 'key' ? ':' : '*'}${JSON.stringify(field.key)}`
}

/** Undefined: Weir did not write the field. */
export function fieldOf(text: string): Field | undefined {
  if (!isCounted(text))
    return text.startsWith('.') ? { kind: 'policy', name: text.slice(1) } : undefined
  const [, name, mark, json] = /^=([\w.-]+)([:*])(".*")$/.exec(text) ?? []
  if (name === undefined || json === undefined) return undefined
  try {
    const key: unknown = JSON.parse(json)
    if (typeof key !== 'string') return undefined
    return { kind: mark === ':' ? 'key' : 'prefix', name, key }
  } catch {
    return undefined
  }
}
