// What is found out about an application before its first request: what the module's options say,
// and which classes and handlers there are.

import { inspect } from 'node:util'
import type { Type } from '@nestjs/common'
import { MetadataScanner, type ModulesContainer } from '@nestjs/core'
import type { Policy } from '@weir/core'
import { invalid } from './exception.js'
import type { NamedPolicy, RateLimitModuleOptions, RateLimitOptions, Settings } from './options.js'
import { GUARD, LIMITS } from './tokens.js'

export type Handler = { readonly name: string }

/** What is the module's alone; core/http checks the rest, and the limit where there is one. */
export function checkOptions(options: RateLimitModuleOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw invalid(`RateLimitModule was given ${inspect(options)}; give options, or {}`)
  }
  const { policies = {}, closeStore = false } = options
  if (typeof policies !== 'object' || policies === null) {
    throw invalid(`policies is ${inspect(policies)}; give an object of policies by their names`)
  }
  if (typeof closeStore !== 'boolean')
    throw invalid(`closeStore is ${inspect(closeStore)}; give true or false`)
}

/**
 * Whether there is to be a default policy. One that is undefined, as a missing setting makes it, is
 * a mistake.
 */
export function hasDefault(options: object): boolean {
  return ['policy', 'limit', 'window'].some((name) => name in options)
}

/** Whether the module's own options have limiters that run after the guards. */
export function asksAfterGuards({ afterGuards, policies = {} }: RateLimitModuleOptions): boolean {
  const all = [{ afterGuards }, ...Object.values(policies as Readonly<Record<string, Settings>>)]
  return all.some((settings) => settings.afterGuards === true)
}

/** Options from one of the forms that the module's `policies` may have. */
export function namedOptions(named: NamedPolicy, key: string): RateLimitOptions {
  const isPolicy = Array.isArray(named) || (named as Policy | undefined)?.signature !== undefined
  const options = isPolicy ? { policy: named as Policy } : (named as RateLimitOptions)
  if (typeof options !== 'object' || options === null) {
    throw invalid(`policies.${key} is ${inspect(named)}; give a policy, several, or options`)
  }
  if (options.name !== undefined) {
    throw invalid(
      `policies.${key} has the name ${JSON.stringify(options.name)}; it is called ${key}`,
    )
  }
  return options
}

/**
 * @throws if the application has more than one of these modules, or a guard that the module cannot
 * use
 */
export function checkSetUp(modules: ModulesContainer): void {
  const ours = [...modules.values()].filter(({ providers }) => providers.has(LIMITS))
  if (ours.length > 1) {
    throw invalid(
      'RateLimitModule is set up twice, so both would count each request; give one of them all policies',
      'WEIR_NAME_CLASH',
    )
  }
  const guard = ours[0]?.providers.get(GUARD)
  if (guard?.isDependencyTreeStatic() !== false) return
  throw invalid(
    `the guard ${guard.metatype?.name} is made anew for each request, or needs something that is; give forRoot one that is not`,
  )
}

/** The classes of an application, and their methods. */
export function targetsIn(
  modules: ModulesContainer,
): { readonly owner: Type; readonly target: Handler }[] {
  const all = [...modules.values()].flatMap(({ controllers, providers }) => [
    ...controllers.values(),
    ...providers.values(),
  ])
  const classes = new Set(all.map(({ metatype }) => metatype as Type | undefined))
  return [...classes].flatMap((owner) => {
    if (!owner?.prototype) return []
    const methods = new MetadataScanner().getAllMethodNames(owner.prototype)
    return [owner, ...methods.map((method) => owner.prototype[method])].map((target) => ({
      owner,
      target,
    }))
  })
}
