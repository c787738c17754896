// The named policies and overrides that hold in a process, as read from the store. A stored value
// that is not a fitting policy changes nothing.

import { counterOf, type Policy } from '../algorithms/policy.js'
import { policyFrom, policyIn } from '../algorithms/policy-from.js'
import { quote } from '../base/errors.js'
import type { SettingChange } from '../settings.js'
import { checkedOverrideKey, checkKind, checkNamed, MAX_OVERRIDES } from './checks.js'
import { type Field, fieldOf } from './fields.js'
import { type Override, Overrides } from './overrides.js'
import type { PolicyChange } from './types.js'

interface Entry {
  readonly value: string
  readonly field: Field | undefined
  /** Undefined: the value is not a policy that may be used. */
  readonly policy: Policy | undefined
}

export class Held {
  /** Why stored values are refused, by field. */
  readonly refused: Map<string, string> = new Map()
  readonly #defaults: ReadonlyMap<string, Policy>
  #current: Map<string, Policy>
  /** By the name of the policies that they replace. */
  #overrides: Map<string, Overrides>
  /** Policies by their text, so that equal texts share one policy. */
  readonly #policies = new Map<string, Policy>()
  readonly #prepared = new Map<string, Entry>()
  readonly #refuse: (field: string, why: string, error: unknown) => void

  /** @param refuse called once for each stored value that is refused */
  constructor(
    defaults: ReadonlyMap<string, Policy>,
    refuse: (field: string, why: string, error: unknown) => void,
  ) {
    this.#defaults = defaults
    this.#current = new Map(defaults)
    this.#overrides = this.#noOverrides()
    this.#refuse = refuse
  }

  #noOverrides(): Map<string, Overrides> {
    return new Map([...this.#defaults.values()].map(({ name }) => [name, new Overrides()]))
  }

  /** The names of the policies that `policy` knows. */
  get names(): readonly string[] {
    return [...this.#defaults.keys()]
  }

  /** The names of the policies themselves, which overrides may have. */
  get policyNames(): readonly string[] {
    return [...this.#overrides.keys()]
  }

  policy(name: string): Policy | undefined {
    return this.#current.get(name)
  }

  /** Undefined: there are none of that name. */
  overridesOf({ name }: Policy): Overrides | undefined {
    const overrides = this.#overrides.get(name)
    return overrides?.size === 0 ? undefined : overrides
  }

  get overrides(): readonly Override[] {
    return [...this.#overrides.values()].flatMap((each) => [...each])
  }

  get overrideCount(): number {
    return [...this.#overrides.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** False for the policies of another version of the application. */
  isDeclared({ kind, name }: Field): boolean {
    return kind === 'policy' ? this.#defaults.has(name) : this.#overrides.has(name)
  }

  /** A policy with the name and algorithm that a field's policy must have. */
  #like({ kind, name }: Field): Policy {
    if (kind === 'policy') return this.#defaults.get(name) as Policy
    const own = [...this.#defaults.values()].filter((each) => each.name === name)
    return own.find(({ kernel }) => kernel !== undefined) ?? (own[0] as Policy)
  }

  /** @throws {TypeError} WEIR_INVALID_POLICY */
  check(field: Field, policy: Policy): void {
    checkNamed(policy, 'policy')
    checkKind(policy, this.#like(field), field.kind !== 'policy')
  }

  /**
   * Checks that an earlier value may be stored again.
   * @throws {TypeError | RangeError} what `policyFrom` throws; WEIR_INVALID_POLICY
   */
  checkStored(field: Field, value: string): void {
    if (this.isDeclared(field)) this.check(field, policyFrom(value))
  }

  /** Reads a stored policy. Undefined: it may not be used. */
  #read(text: string, value: string): Policy | undefined {
    const field = fieldOf(text)
    if (field === undefined || !this.isDeclared(field)) return undefined
    try {
      // An empty prefix, which can only have been written by hand, would override all keys.
      if (field.kind === 'key') checkedOverrideKey(field.key)
      if (field.kind === 'prefix') checkedOverrideKey({ prefix: field.key })
      const policy = this.#policies.get(value) ?? policyFrom(value)
      this.check(field, policy)
      if (this.#policies.size > 2 * MAX_OVERRIDES) this.#policies.clear()
      this.#policies.set(value, policy)
      this.refused.delete(text)
      return policy
    } catch (error) {
      const why = error instanceof Error ? error.message : quote(error)
      if (!this.refused.has(text)) this.#refuse(text, why, error)
      this.refused.set(text, why)
      return undefined
    }
  }

  /** Reads some fields ahead of `load`: reading all at once would hold up requests. */
  prepare(fields: readonly (readonly [text: string, value: string])[]): void {
    for (const [text, value] of fields) {
      const entry = this.#readEntry(text, value)
      if (entry.policy !== undefined) this.#prepared.set(text, entry)
    }
  }

  #readEntry(text: string, value: string): Entry {
    return { value, field: fieldOf(text), policy: this.#read(text, value) }
  }

  /** Replaces everything with what the store has. */
  load(fields: ReadonlyMap<string, string>): void {
    for (const field of this.refused.keys()) if (!fields.has(field)) this.refused.delete(field)
    const current = new Map(this.#defaults)
    const overrides = this.#noOverrides()
    for (const [text, value] of fields) {
      const prepared = this.#prepared.get(text)
      const isSame = prepared?.value === value
      const { field, policy } = isSame ? prepared : this.#readEntry(text, value)
      if (field === undefined || !this.isDeclared(field)) continue
      const { kind, name } = field
      // A field that cannot be read keeps its last good policy.
      if (kind === 'policy') current.set(name, policy ?? (this.#current.get(name) as Policy))
      else {
        const known = policy ?? this.#overrides.get(name)?.get(kind, field.key)
        overrides.get(name)?.set(kind, field.key, known)
      }
    }
    this.#current = current
    this.#overrides = overrides
    this.#prepared.clear()
  }

  /** Applies a change and describes it; undefined: it changes nothing here. */
  apply(change: SettingChange): PolicyChange | undefined {
    const field = fieldOf(change.field)
    if (field === undefined || !this.isDeclared(field)) return undefined
    const isRemoved = change.value === ''
    if (isRemoved) this.refused.delete(change.field)
    const policy = isRemoved ? undefined : this.#read(change.field, change.value)
    if (policy === undefined && !isRemoved) return undefined
    const { kind, name } = field
    if (kind === 'policy') this.#current.set(name, policy ?? this.#like(field))
    else this.#overrides.get(name)?.set(kind, field.key, policy)
    return this.describe(change, field)
  }

  describe(change: SettingChange, field: Field): PolicyChange {
    const { kind, name } = field
    const policy = this.readable(change.value)
    const was = this.readable(change.was)
    // What holds where nothing is set.
    const otherwise =
      kind === 'policy'
        ? [this.#defaults.get(name) as Policy]
        : [...this.#current.values()].filter((each) => each.name === name)
    const before = was === undefined ? otherwise : [was]
    const after = policy === undefined ? otherwise : [policy]
    const goesOn = before.some((one) => after.some((two) => counterOf(one) === counterOf(two)))
    return {
      version: change.version,
      kind,
      name,
      ...(kind !== 'policy' && { key: field.key }),
      policy,
      was,
      madeAtMs: change.nowUs / 1_000,
      activeAtMs: change.activeUs / 1_000,
      isNewCounter: !goesOn,
    }
  }

  readable(value: string): Policy | undefined {
    return value === '' ? undefined : (this.#policies.get(value) ?? policyIn(value))
  }
}
