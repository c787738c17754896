// Which live policies hold for a key: from what processes declare, what is set, and overrides.

import { type Policy, policyFrom } from '@weir/core'
import { quote } from '@weir/core/internal'
import { failed } from '../errors.js'
import type { AskedStore, Field, LiveState } from './tools.js'
import { isSame, plural, policyText, printed } from './words.js'

/** The policy that live policies have under a name, as it holds for the key. */
export interface LivePolicy {
  /** What the application calls it. */
  readonly named: string
  readonly policy: Policy
  /** Why the policy holds: nothing is set; or it is set for all keys, for this one, or for a prefix
   *  of it. */
  readonly why: 'default' | 'set' | 'key' | 'prefix'
  /** The prefix. */
  readonly prefix?: string | undefined
  /** The version of the change that set the policy, if it is still remembered. */
  readonly version?: number | undefined
  readonly atMs?: number | undefined
  /** What would hold without an override, and without anything set. */
  readonly otherwise: Policy | undefined
  readonly declared: Policy | undefined
}

/** All live policies of a name, with notes about them. */
export interface Live {
  readonly name: string
  readonly version: number
  readonly processes: number
  readonly policies: readonly LivePolicy[]
  readonly notes: readonly string[]
}

/**
 * @param inFile a file's policies: overrides also hold for those that no process has
 * @throws {SimulateError} WEIR_INVALID_OPTION if nothing is known by the name
 */
export async function liveFor(
  store: AskedStore,
  name: string,
  key: string,
  inFile: readonly Policy[] | undefined,
): Promise<Live> {
  const state = await store.live(name)
  const { news, processes } = state
  if (processes.length === 0 && state.fields.size === 0) {
    const what = `no process has reported livePolicies named ${quote(name)} in the last 15 s`
    throw failed('WEIR_INVALID_OPTION', `${what}, and nothing is set; check --name and --prefix`)
  }
  const { fields, notes: coming } = heldNow(state)
  const set = new Settings(store, { ...state, fields })
  const declared = declaredIn(state)
  const names = new Set([...declared.policies.keys(), ...set.names()])
  const known = [...names].flatMap((named) => {
    return set.policyFor(named, declared.policies.get(named), key) ?? []
  })
  const others = (inFile ?? []).flatMap((policy) => {
    if (known.some(({ otherwise }) => otherwise?.name === policy.name)) return []
    const override = set.overrideOf(policy, key)
    if (override === undefined) return []
    return { named: policy.name, otherwise: policy, declared: undefined, ...override }
  })
  const policies = [...known, ...others]
  if (policies.length === 0 && inFile === undefined) {
    const what = `livePolicies ${quote(name)} have no policy that holds`
    throw failed('WEIR_INVALID_OPTION', [what, ...set.notes, ...coming].join('; '))
  }
  const notes = [...declared.notes, ...set.notes, ...coming, ...laggardsIn(state)]
  return { ...{ name, version: news.version, processes: processes.length, policies }, notes }
}

/** What is set, without the changes that do not hold yet. */
function heldNow({ news, fields }: LiveState): Pick<LiveState, 'fields'> & { notes: string[] } {
  const held = new Map(fields)
  const notes: string[] = []
  for (const change of (news.changes ?? []).toReversed()) {
    const { activeUs, field, was, version } = change
    if (activeUs <= news.nowUs) break
    if (was === '') held.delete(field)
    else held.set(field, was)
    const inMs = Math.ceil((activeUs - news.nowUs) / 1_000)
    notes.push(`version ${version} holds in ${inMs} ms, and changes ${printed(field)}`)
  }
  return { fields: held, notes }
}

/** The processes' defaults by name, each from the first process that has one. */
function declaredIn({ processes }: LiveState) {
  const policies = new Map<string, Policy>()
  const others = new Map<string, number>()
  for (const { defaults } of processes) {
    for (const [named, policy] of Object.entries(defaults)) {
      const known = policies.get(named)
      if (known === undefined) policies.set(named, policy)
      else if (!isSame(known, policy)) others.set(named, (others.get(named) ?? 0) + 1)
    }
  }
  const notes = [...others].map(([named, count]) => {
    const some = `${count} of ${plural(processes.length, 'process', 'processes')}`
    return `${some} have another default for ${quote(named)}`
  })
  return { policies, notes }
}

/** Notes on the processes in which something else may hold. */
function laggardsIn({ processes, news }: LiveState): readonly string[] {
  return processes
    .filter(({ version, isCurrent }) => version !== news.version || !isCurrent)
    .map(({ process, version, isCurrent }) => {
      const cannot = isCurrent ? '' : ', and cannot follow'
      return `process ${printed(process)} is at version ${version} of ${news.version}${cannot}`
    })
}

/** What is set. */
class Settings {
  readonly notes: string[] = []
  readonly #store: AskedStore
  readonly #state: LiveState
  readonly #fields: readonly (Field & { readonly text: string })[]

  constructor(store: AskedStore, state: LiveState) {
    this.#store = store
    this.#state = state
    this.#fields = [...state.fields.keys()].flatMap((text) => {
      const field = store.fieldOf(text)
      return field === undefined ? [] : { ...field, text }
    })
  }

  /** The names of the policies that are set. */
  names(): readonly string[] {
    return this.#fields.flatMap(({ kind, name }) => (kind === 'policy' ? name : []))
  }

  policyFor(named: string, declared: Policy | undefined, key: string): LivePolicy | undefined {
    const { processes } = this.#state
    if (declared === undefined && processes.length > 0) {
      this.notes.push(`${quote(named)} is set, and no process has a policy of this name`)
      return undefined
    }
    const set = this.#fields.find(({ kind, name }) => kind === 'policy' && name === named)
    const own = set && this.#read(set)
    const otherwise = own?.policy ?? declared
    if (otherwise === undefined) return undefined
    const base = { named, otherwise, declared }
    const override = this.overrideOf(otherwise, key)
    if (override !== undefined) return { ...base, ...override }
    return own === undefined
      ? { ...base, policy: otherwise, why: 'default' }
      : { ...base, ...own, why: 'set' }
  }

  /** The override of the key itself, or of its longest prefix. */
  overrideOf(of: Policy, key: string) {
    const own = this.#store.nameOfKey(key)
    const overrides = this.#fields
      .filter(({ kind, name, key: whose = '' }) => {
        if (kind === 'policy' || name !== of.name) return false
        return kind === 'key' ? whose === own : key.startsWith(whose)
      })
      .sort((one, two) => rankOf(two) - rankOf(one))
    for (const field of overrides) {
      const known = this.#read(field)
      if (known === undefined) continue
      return field.kind === 'key'
        ? { ...known, why: 'key' as const }
        : { ...known, why: 'prefix' as const, prefix: field.key }
    }
    return undefined
  }

  /** The policy of a field. Undefined: the field's value cannot hold; a note says why. */
  #read({ text, kind, name, key }: Field & { readonly text: string }) {
    const { fields, processes, news } = this.#state
    const value = fields.get(text) as string
    const isThis = (each: Field) => each.kind === kind && each.name === name && each.key === key
    const refusing = processes.filter(({ refused }) => refused.some(isThis)).length
    if (refusing > 0) {
      const count = `${refusing} of ${plural(processes.length, 'process', 'processes')}`
      this.notes.push(`${printed(text)} is set to ${printed(value)}, which ${count} refuse`)
      if (refusing === processes.length) return undefined
    }
    try {
      return { policy: policyFrom(value), ...madeBy(news, text) }
    } catch (error) {
      this.notes.push(`${printed(text)} is set to what is no policy: ${quote(error)}`)
      return undefined
    }
  }
}

function rankOf({ kind, key = '' }: Field): number {
  return kind === 'key' ? Number.POSITIVE_INFINITY : key.length
}

/** The last change of a field that holds by now. */
function madeBy({ changes = [], nowUs }: LiveState['news'], of: string) {
  const last = changes.findLast(({ field, activeUs }) => field === of && activeUs <= nowUs)
  return { version: last?.version, atMs: last && Math.floor(last.nowUs / 1_000) }
}

/** Why the policy holds, in words. */
export function whyText({ named, why, prefix, version, atMs, otherwise }: LivePolicy): string {
  const when = version === undefined ? '' : ` in version ${version}`
  const at = atMs === undefined ? '' : ` at ${new Date(atMs).toISOString()}`
  if (why === 'default') return `the default of ${quote(named)}; nothing is set`
  if (why === 'set') return `${quote(named)} as it was set${when}${at}`
  const whose = why === 'key' ? 'this key' : `keys that begin with ${quote(prefix)}`
  const without = otherwise === undefined ? '' : `; without it ${policyText(otherwise)}`
  return `an override of ${whose}, set${when}${at}, in place of ${quote(named)}${without}`
}
