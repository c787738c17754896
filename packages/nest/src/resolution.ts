// Finds the limiters of a handler: its decorator's, its class's decorator's, or the defaults.

import 'reflect-metadata'
import type { Type } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { quote, warnOnce } from '@weir/core/internal'
import { type Decorated, decorated } from './decorated.js'
import { declaredOn, skippedOn } from './decorators.js'
import { invalid } from './exception.js'
import type { Limit, Limits } from './limit.js'
import { namesOfClasses } from './names.js'
import type { Registry } from './registry.js'
import { checkOnce, classesIn, type Handler, isRoute, targetsOf } from './set-up.js'
import { HANDLER } from './tokens.js'

export interface Resolved {
  readonly limits: Limits
  /** Whether they come from a decorator. */
  readonly isDeclared: boolean
}

interface OfClass {
  /** What its own decorator makes, or else the defaults. */
  readonly made: Decorated
  readonly isDeclared: boolean
  /** The names of the class's methods, by which their decorators are found. */
  readonly methods: ReadonlyMap<unknown, string>
  /** By method. Undefined: a handler that is none of them. */
  readonly known: Map<string | undefined, Resolved>
}

export type Resolve = (owner: Type, handler: Handler) => Resolved

/** Makes the limiters of all decorators, and so finds mistakes before the first request. */
export function resolution(registry: Registry, modules: ModulesContainer): Resolve {
  const names = namesOfClasses(modules)
  const nameOf = (owner: Type): string => names.get(owner) ?? owner.name
  /** By class, because an inherited handler counts separately for each class. */
  const ofClasses = new WeakMap<Type, OfClass>()

  function ofClass(owner: Type): OfClass {
    const existing = ofClasses.get(owner)
    if (existing !== undefined) return existing
    const declared = declaredOn(owner)
    const { defaults } = registry
    const place = { name: nameOf(owner), isMethod: false }
    const made: OfClass = {
      made: declared ? decorated(registry, declared, place, defaults) : { all: defaults, own: [] },
      isDeclared: declared !== undefined,
      methods: methodsOf(owner),
      known: new Map(),
    }
    ofClasses.set(owner, made)
    return made
  }

  function resolve(owner: Type, handler: Handler): Resolved {
    const { made, isDeclared, methods, known } = ofClass(owner)
    const method = methodOf(methods, handler)
    const existing = known.get(method)
    if (existing !== undefined) return existing
    if (method === undefined) {
      const resolved = ofUnknown(registry, made.all, owner, handler, isDeclared)
      known.set(method, resolved)
      return resolved
    }
    const name = `${nameOf(owner)}.${method}`
    const declared = declaredOn(owner, method)
    const place = { name, isMethod: true }
    const own = declared ? decorated(registry, declared, place, made.all) : made
    // A class's `@SkipRateLimit` does not free a method from the method's own decorator.
    const kept = declared && skippedOn(owner, method) === undefined ? own.own : []
    const limits = own.all
      .filter((limit) => kept.includes(limit) || !isSkipped(registry, limit, owner, method))
      .map((limit) => (limit.options.perHandler ? ofHandler(registry, limit, name) : limit))
    const resolved = { limits, isDeclared: declared !== undefined || isDeclared }
    known.set(method, resolved)
    return resolved
  }

  checkOnce(modules)
  const classes = classesIn(modules)
  for (const owner of classes) {
    ofClass(owner)
    for (const target of targetsOf(owner))
      if (declaredOn(owner, target.method) || isRoute(target)) resolve(owner, target.handler)
  }
  for (const owner of classes) checkSkipped(registry, owner)
  const short = classes.filter((owner) => {
    const limits = [...ofClass(owner).known.values()].flatMap((resolved) => resolved.limits)
    return owner.name.length <= SHORT && limits.some((limit) => isNamedAfter(limit, nameOf(owner)))
  })
  if (short.length > 0) warnOfShort(short)
  return resolve
}

/** Names as short as this are probably a minifier's. */
const SHORT = 2

/** Whether the limiter has no other name than that of a class, or of its method. */
function isNamedAfter({ given, names }: Limit, owner: string): boolean {
  const { limiter } = names
  if (given.name !== undefined || limiter === names.shown) return false
  return limiter === owner || [`${owner}.`, `${owner}-`].some((start) => limiter.startsWith(start))
}

function warnOfShort(classes: readonly Type[]): void {
  const some = classes.slice(0, MOST_LISTED).map(({ name }) => quote(name))
  const listed = some.join(', ') + (classes.length > MOST_LISTED ? ' and others' : '')
  const what = `limiters are named after classes whose names seem to be a minifier's: ${listed}`
  const why = 'in another build another class may have such a name, and these counters'
  const remedy = 'give @RateLimit a name, or let the bundler keep the names of classes'
  warnOnce('WEIR_SHORT_NAME', listed, `${what}; ${why}: ${remedy}`)
}

const MOST_LISTED = 5

/**
 * The methods of a class, each marked with itself.
 * @throws WEIR_NOT_ENFORCED: two methods are one function, so a call does not show whose decorators
 * hold
 */
function methodsOf(owner: Type): OfClass['methods'] {
  const methods = new Map<unknown, string>()
  for (const { handler, method } of targetsOf(owner)) {
    const other = methods.get(handler)
    if (other !== undefined && [method, other].some((each) => isMarked(owner, each))) {
      const what = `${owner.name}.${other} and ${owner.name}.${method} are one function`
      const why = 'so Weir cannot tell whose decorators hold'
      throw invalid(`${what}, ${why}; make two functions of it`, 'WEIR_NOT_ENFORCED')
    }
    methods.set(handler, method)
    Reflect.defineMetadata(HANDLER, handler, handler)
  }
  return methods
}

/** The method that a handler is, or that it wraps; one that was replaced on an instance may only
 *  have the method's name. Undefined: it is none. */
function methodOf(methods: OfClass['methods'], handler: Handler): string | undefined {
  const known = methods.get(handler) ?? methods.get(Reflect.getMetadata(HANDLER, handler))
  if (known !== undefined) return known
  const name = handler.name.replace(/^(bound )+/, '')
  return [...methods.values()].includes(name) ? name : undefined
}

function isMarked(owner: Type, method: string): boolean {
  return declaredOn(owner, method) !== undefined || skippedOn(owner, method) !== undefined
}

/**
 * The limiters of a handler that is no method of its class.
 * @throws WEIR_NOT_ENFORCED where methods of the class have different limiters
 */
function ofUnknown(
  registry: Registry,
  all: Limits,
  owner: Type,
  handler: Handler,
  isDeclared: boolean,
): Resolved {
  const isSame =
    !targetsOf(owner).some(({ method }) => isMarked(owner, method)) &&
    !all.some(({ options }) => options.perHandler)
  if (isSame)
    return { limits: all.filter((limit) => !isSkipped(registry, limit, owner)), isDeclared }
  const what = `${quote(handler)} is called for ${owner.name}, and is none of its methods`
  const why = 'so Weir cannot find its decorators'
  const right = 'let what wraps the handler copy its metadata, or its name'
  throw invalid(`${what}, ${why}: ${right}`, 'WEIR_NOT_ENFORCED')
}

function isSkipped(registry: Registry, { names }: Limit, owner: Type, method?: string): boolean {
  const skipped = skippedOn(owner, method) ?? skippedOn(owner)
  if (skipped === undefined) return false
  return skipped.length === 0 || skipped.some((name) => registry.called(name) === names.name)
}

/** @throws if a decorator skips a limiter that does not exist */
function checkSkipped(registry: Registry, owner: Type): void {
  for (const method of [undefined, ...targetsOf(owner).map((target) => target.method)])
    for (const name of skippedOn(owner, method) ?? [])
      registry.named(name, `@SkipRateLimit of ${owner.name}`)
}

function ofHandler(registry: Registry, { given, names }: Limit, handler: string): Limit {
  const limiter = `${handler}.${given.name ?? names.name}`
  return registry.add({ ...given, perHandler: false }, { ...names, limiter })
}
