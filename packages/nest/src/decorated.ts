// How a decorator changes the limiters that hold without it.

import type { Declared } from './decorators.js'
import { invalid } from './exception.js'
import { behind, type Limit, type Limits, type Names, sameNames } from './limit.js'
import type { RateLimitOptions } from './options.js'
import type { Registry } from './registry.js'
import { isWhole } from './set-up.js'

/** Where a decorator is written: on a class, or on one of its methods. */
export interface Place {
  /** Its limiter's name, made of the class and the method. */
  readonly name: string
  readonly isMethod: boolean
}

/** The limiters that hold with a decorator. */
export interface Decorated {
  readonly all: Limits
  /** The ones of `all` that the decorator itself names or changes. */
  readonly own: Limits
}

/**
 * The limiters of one decorator: on a class they are the class's, on a method the handler's.
 * @param held the limiters that hold without it
 */
export function decorated(
  registry: Registry,
  { also, names, options, override }: Declared,
  place: Place,
  held: Limits,
): Decorated {
  const where = `@RateLimit of ${place.name}`
  if (override !== undefined) return overridden(registry, override, place, held)
  if (options !== undefined && !isWhole(options)) {
    const isOne = held.length === 1 || !isOwn(options)
    if (also || held.length === 0 || !isOne) {
      const why = also ? 'adds a limiter' : `changes what holds here, and there ${listed(held)}`
      const right = 'give policy, or limit and window; or { override: { name: options } }'
      throw invalid(`${where} ${why}; ${right}`)
    }
    const all = held.map((limit) => changed(registry, limit, options, place))
    return { all, own: all }
  }
  const own = options
    ? [registry.add(options, namesOf(options, place), sourceOf(options))]
    : names.map((name) => registry.named(name, where))
  return { all: [...new Set([...(also ? registry.defaults : []), ...own])], own }
}

function overridden(
  registry: Registry,
  override: NonNullable<Declared['override']>,
  place: Place,
  held: Limits,
): Decorated {
  const unknown = Object.keys(override).find((name) => !held.some((one) => one.names.name === name))
  if (unknown !== undefined)
    throw invalid(`@RateLimit of ${place.name} overrides "${unknown}", but there ${listed(held)}`)
  // With a dash, a class's limiter cannot have the name of a method's.
  const start = `${place.name}${place.isMethod ? '.' : '-'}`
  const all = held.map((limit) => {
    const { name } = limit.names
    const changes = override[name]
    return changes ? changed(registry, limit, changes, { ...place, name: start + name }) : limit
  })
  return { all, own: all.filter((limit) => !held.includes(limit)) }
}

/** A limiter with changes: on the same counters, or else with its own. */
function changed(registry: Registry, base: Limit, changes: RateLimitOptions, place: Place): Limit {
  if (!isOwn(changes)) {
    const given = { ...behind(base.given, changes), ...changes } as RateLimitOptions
    return registry.beside(given, base.names)
  }
  const { policy, limit, window, name: _, ...others } = behind(base.given, changes)
  const isWithout = limit === undefined && !isWhole(changes)
  if (isWithout && ('limit' in changes || 'window' in changes)) {
    throw invalid(
      `@RateLimit of ${place.name} changes a limit or a window, but "${base.names.name}" has a policy; give one, or both limit and window`,
    )
  }
  const allowance = isWhole(changes) ? {} : { policy, limit, window }
  const given = { ...others, ...allowance, ...changes } as RateLimitOptions
  const { name: limiter = place.name, name: shown = base.names.shown } = changes
  const own = place.isMethod ? { ...given, perHandler: false } : given
  return registry.add(own, { ...base.names, limiter, shown }, sourceOf(changes))
}

/** Whether changes make a limiter of its own: one that allows something else shares no counters. */
function isOwn(changes: RateLimitOptions): boolean {
  return isWhole(changes) || ['limit', 'window', 'name'].some((name) => name in changes)
}

function listed(limits: Limits): string {
  const names = limits.map((limit) => limit.names.name)
  return names.length === 0 ? 'is none' : `are ${names.join(', ')}`
}

function namesOf({ name }: RateLimitOptions, place: Place): Names {
  if (name !== undefined) return sameNames(name)
  return { name: place.name, limiter: place.name, shown: place.isMethod ? 'handler' : 'group' }
}

/** A decorator with an explicit name is one limiter wherever it is written. */
function sourceOf(options: RateLimitOptions): object | undefined {
  return options.name === undefined ? undefined : options
}
