// Checks that something runs the limits written in an application: a limit that nothing enforces
// looks like one that works.

import 'reflect-metadata'
import type { Type } from '@nestjs/common'
import { ApplicationConfig, type ModulesContainer } from '@nestjs/core'
import { declaredOn } from './decorators.js'
import { invalid } from './exception.js'
import type { RateLimits } from './limits.js'
import { classesIn, FIELDS, isRoute, type Target, targetsOf } from './set-up.js'
import { GUARD } from './tokens.js'

/** Where Nest keeps what `@UseGuards` and `@UseInterceptors` are given. */
const GUARDS = '__guards__'
const INTERCEPTORS = '__interceptors__'

/** Only Nest 12 runs global guards and interceptors in gateways. */
const GATEWAYS_HAVE_GLOBALS = 'getGlobalPreRequestHooks' in ApplicationConfig.prototype

/** What Nest runs for a handler. */
interface Reach {
  readonly guards: boolean
  readonly interceptors: boolean
  readonly globals: boolean
  /** What to do where something is missing. */
  readonly remedy: string
}

/** @throws WEIR_NOT_ENFORCED. `isGlobal`: whether the module has registered a guard; `hasServer`:
 *  whether there is an HTTP server, without which only messages arrive. */
export function checkEnforced(
  modules: ModulesContainer,
  config: ApplicationConfig,
  limits: RateLimits,
  isGlobal: boolean,
  hasServer: boolean,
): void {
  const hasGuard =
    isGlobal ||
    config.getGlobalGuards().some((guard) => isOurs(guard) || isOverride(guard, modules)) ||
    config.getGlobalRequestGuards().some(({ metatype }) => isOurs(metatype))
  const hasInterceptor = config.getGlobalInterceptors().some(isOurs)
  const fields = fieldEnhancers(modules)

  function check(target: Target, hasOthers: boolean): void {
    const { owner, method, handler } = target
    const reach = reachOf(target, fields)
    // A class's decorator is not meant for fields that no guard can limit, if the class has other
    // handlers.
    const isFree = hasOthers && isField(target) && !reach.guards
    const isDeclared =
      declaredOn(owner, method) !== undefined || (!isFree && declaredOn(owner) !== undefined)
    for (const { names, isLate } of limits.of(owner, handler)) {
      // A global guard also limits every handler without a decorator.
      if (!isDeclared && !(isLate && hasGuard && reach.guards && reach.globals)) continue
      const byGuard = hasGuard && (isLate ? reach.interceptors : reach.guards)
      const byGlobal = reach.globals && (byGuard || (hasInterceptor && reach.interceptors))
      if (byGlobal || isPlaced(target, reach, isLate)) continue
      throw notEnforced(`limiter "${names.name}" of ${owner.name}.${method}`, reach.remedy)
    }
  }

  for (const owner of classesIn(modules)) {
    const targets = targetsOf(owner)
    const handlers = targets.filter((one) => isRoute(one) || isOfLibrary(one))
    const lost = targets.find((one) => declaredOn(owner, one.method) && !handlers.includes(one))
    const isLost = declaredOn(owner) && handlers.length === 0 && !isController(owner)
    if (lost || isLost) {
      const where = lost ? `${owner.name}.${lost.method}` : owner.name
      throw notEnforced(`@RateLimit of ${where}`, NO_HANDLER)
    }
    const hasOthers = !handlers.every(isField)
    for (const target of handlers) if (hasServer || isPattern(target)) check(target, hasOthers)
  }
}

const NO_HANDLER =
  'Nest sends it no requests; where a library does, write @UseGuards(RateLimitGuard) there, or else inject a limiter by @InjectRateLimiter and call its consume'

function notEnforced(what: string, remedy: string): TypeError {
  return invalid(`${what}: nothing would enforce it: ${remedy}`, 'WEIR_NOT_ENFORCED')
}

/** Whether a guard of ours shows that a library calls this method. On a controller, a guard on the
 *  class is for Nest's own handlers. */
function isOfLibrary(target: Target): boolean {
  const { owner, handler } = target
  return isPlaced(
    { ...target, owner: isController(owner) ? Unplaced : owner, handler },
    EVERYTHING,
    false,
  )
}

class Unplaced {}

/** Whether a guard or an interceptor of ours stands on the handler or its class. */
function isPlaced({ owner, handler }: Target, reach: typeof EVERYTHING, isLate: boolean): boolean {
  const placed = (key: string): unknown[] =>
    [owner, handler].flatMap((on) => Reflect.getMetadata(key, on) ?? [])
  if (reach.interceptors && placed(INTERCEPTORS).some(isOurs)) return true
  const guards = placed(GUARDS)
  const own = guards.map(isOurs).lastIndexOf(true)
  return reach.guards && own >= 0 && (!isLate || own === guards.length - 1)
}

/** Whether a class, or an instance's class, is our guard or interceptor, or derived from one. */
function isOurs(one: unknown): boolean {
  const type = typeof one === 'function' ? one : (one as object | null)?.constructor
  return type !== undefined && Reflect.hasMetadata(GUARD, type)
}

/** Whether a test has put this guard in place of one of ours. */
function isOverride(guard: unknown, modules: ModulesContainer): boolean {
  return [...modules.values()].some(({ providers }) =>
    [...providers].some(([token, { instance }]) => instance === guard && isOurs(token)),
  )
}

function isPattern({ handler }: Target): boolean {
  return Reflect.hasMetadata('microservices:pattern', handler)
}

function isField({ handler }: Target): boolean {
  return FIELDS.some((key) => Reflect.hasMetadata(key, handler))
}

function isController(owner: Type): boolean {
  return Reflect.hasMetadata('path', owner)
}

const EVERYTHING = { guards: true, interceptors: true }

function reachOf(target: Target, fields: readonly string[]): Reach {
  const remedy =
    'write @UseGuards(RateLimitGuard) there, as the last of the guards for a limiter that runs after them'
  if (isField(target)) {
    return {
      guards: fields.includes('guards'),
      interceptors: fields.includes('interceptors'),
      globals: true,
      remedy: "give GraphQLModule fieldResolverEnhancers: ['guards', 'interceptors']",
    }
  }
  const globals =
    GATEWAYS_HAVE_GLOBALS || !Reflect.hasMetadata('websockets:is_gateway', target.owner)
  return { ...EVERYTHING, globals, remedy }
}

interface GraphQLOptions {
  readonly fieldResolverEnhancers?: readonly string[]
}

/** Which kinds of enhancers GraphQL runs for fields below the root. */
function fieldEnhancers(modules: ModulesContainer): readonly string[] {
  return [...modules.values()].flatMap(({ providers }) => {
    const options = providers.get('GqlModuleOptions')?.instance as GraphQLOptions | undefined
    return options?.fieldResolverEnhancers ?? []
  })
}
