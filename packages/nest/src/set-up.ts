// Reads an application before its first request: the module's options, and its classes and
// handlers.

import type { Type } from '@nestjs/common'
import { MetadataScanner, type ModulesContainer } from '@nestjs/core'
import type { Policy } from '@weir/core'
import { policyNamed, quote } from '@weir/core/internal'
import { invalid } from './exception.js'
import type { NamedPolicy, RateLimitModuleOptions, RateLimitOptions } from './options.js'
import { LIMITS } from './tokens.js'

export type Handler = { readonly name: string }

/** Refuses the options of Nest's throttler: an array, or an object with an array as
 *  `throttlers`. */
export function checkGiven(options: unknown): void {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options)
  if (isObject && !('throttlers' in options)) return
  const given = isObject ? 'throttlers' : quote(options)
  const right = 'give { limit, window }, or { policies, defaults } where there are several, or {}'
  throw invalid(`RateLimitModule was given ${given}; ${right}: see docs/migrating.md`)
}

/** Checks the options that only the module has; core/http checks the rest, and the limit if there
 *  is one. */
export function checkOptions(options: RateLimitModuleOptions): void {
  checkGiven(options)
  const { policies = {}, defaults = [], closeStore = false } = options
  if (typeof policies !== 'object' || policies === null) {
    throw invalid(`policies is ${quote(policies)}; give an object of policies by their names`)
  }
  if (!Array.isArray(defaults))
    throw invalid(`defaults is ${quote(defaults)}; give an array of names of policies`)
  if (!['boolean', 'function'].includes(typeof closeStore))
    throw invalid(`closeStore is ${quote(closeStore)}; give true, false or a function`)
}

/**
 * Whether there should be a default policy. An undefined one, as from a missing setting, is a
 * mistake.
 */
export function hasDefault(options: object): boolean {
  return ['policy', 'limit', 'window'].some((name) => name in options)
}

/** Whether options contain a whole policy; others change what holds otherwise. */
export function isWhole(options: object): boolean {
  return 'policy' in options || ('limit' in options && 'window' in options)
}

/** Options from one of the forms that the module's `policies` may have. */
export function namedOptions(named: NamedPolicy, key: string): RateLimitOptions {
  const isPolicy = Array.isArray(named) || isOne(named as Policy)
  const options = isPolicy ? { policy: named as Policy } : (named as RateLimitOptions)
  if (typeof options !== 'object' || options === null) {
    throw invalid(`policies.${key} is ${quote(named)}; give a policy, several, or options`)
  }
  if (options.name !== undefined) {
    throw invalid(`policies.${key} has the name ${quote(options.name)}; it is called ${key}`)
  }
  const { policy } = options
  if (!isOne(policy)) return options
  return { ...options, policy: policyNamed(policy, key) } as RateLimitOptions
}

function isOne(policy: RateLimitOptions['policy']): policy is Policy {
  return (policy as Policy | undefined)?.signature !== undefined
}

/** @throws if the application has more than one of these modules */
export function checkOnce(modules: ModulesContainer): void {
  if ([...modules.values()].filter(({ providers }) => providers.has(LIMITS)).length < 2) return
  throw invalid(
    'RateLimitModule is set up twice, so both would count each request; give one of them all policies',
    'WEIR_NAME_CLASH',
  )
}

/** A method of a class, which may be a handler. */
export interface Target {
  readonly owner: Type
  readonly method: string
  readonly handler: Handler
}

type Module = NonNullable<ReturnType<ModulesContainer['get']>>

/** The classes of an application, each with a module that it is in. */
export function classesOf(modules: ModulesContainer): readonly [Module, Type][] {
  const classes = [...modules.values()].flatMap((module) =>
    [...module.controllers.values(), ...module.providers.values()].map(
      ({ metatype }) => [module, metatype as Type | undefined] as const,
    ),
  )
  return classes.filter(([, owner]) => owner?.prototype !== undefined) as [Module, Type][]
}

/** The classes of an application, each once. */
export function classesIn(modules: ModulesContainer): readonly Type[] {
  return [...new Set(classesOf(modules).map(([, owner]) => owner))]
}

/** The metadata that Nest and its packages write on handlers. */
const ROUTES = ['path', 'message', 'microservices:pattern', 'graphql:resolver_type']

/** Whether a method is a handler of Nest's own. */
export function isRoute({ handler }: Target): boolean {
  return [...ROUTES, ...FIELDS].some((key) => Reflect.hasMetadata(key, handler))
}

/** The metadata of GraphQL's fields below the root, and of references. */
export const FIELDS: readonly string[] = ['graphql:resolve_property', 'graphql:resolve_reference']

export function targetsOf(owner: Type): readonly Target[] {
  return new MetadataScanner()
    .getAllMethodNames(owner.prototype)
    .map((method) => ({ owner, method, handler: owner.prototype[method] }))
}
