// Limits are made once, at start. Nest makes whatever depends on a request-scoped provider anew for
// each request. It would not make such a guard at start, so nothing would be limited, and no error
// would say so.

import { type InjectionToken, type OnModuleInit, Scope } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { invalid } from './exception.js'
import { GUARD, LIMITS, OPTIONS } from './tokens.js'

type Module = NonNullable<ReturnType<ModulesContainer['get']>>
type Wrapper = NonNullable<ReturnType<Module['providers']['get']>>

/** What must be made once, and what to do where it cannot be. */
const MADE_ONCE: readonly (readonly [token: InjectionToken, what: string, remedy: string])[] = [
  [
    OPTIONS,
    'the options of RateLimitModule depend on',
    'inject providers of the default scope, and read the request in functions: key, policy, skip',
  ],
  [LIMITS, 'RateLimits depends on', 'override it with a value, or a provider of the default scope'],
  [
    GUARD,
    'the guard that forRoot was given is, or needs,',
    'give a guard of the default scope, or guard: false and write @UseGuards with this one',
  ],
]

/** Makes a provider that depends on nothing request-scoped, so that Nest always calls it. */
export function scopeCheck(modules: ModulesContainer): OnModuleInit {
  return { onModuleInit: () => checkScopes(modules) }
}

/** @throws WEIR_NOT_ENFORCED. The scopes are known only when Nest has tried to make all
 *  providers. */
function checkScopes(modules: ModulesContainer): void {
  for (const { providers } of modules.values()) {
    for (const [token, what, remedy] of MADE_ONCE) {
      const wrapper = providers.get(token)
      if (wrapper === undefined || wrapper.isDependencyTreeStatic()) continue
      const path = pathToScoped(wrapper, [])
      const names = path.map(nameOf)
      const through = names.length > 1 ? ` (${names.slice(0, -1).join(' -> ')})` : ''
      throw invalid(
        `${what} ${names.at(-1) ?? 'a provider'}, which is request-scoped${through}; limits are made once, at start: ${remedy}`,
        'WEIR_NOT_ENFORCED',
      )
    }
  }
}

/** The path from a provider to the request-scoped provider that it depends on, without this
 *  module's aliases. */
function pathToScoped(wrapper: Wrapper, seen: readonly Wrapper[]): readonly Wrapper[] {
  const isOwn = MADE_ONCE.some(([token]) => token === wrapper.token)
  const here = isOwn ? [] : [wrapper]
  if (wrapper.scope === Scope.REQUEST) return here
  const needed = [
    ...(wrapper.getCtorMetadata() ?? []),
    ...(wrapper.getPropertiesMetadata() ?? []).map((property) => property.wrapper),
  ]
  const next = needed.find((each) => !seen.includes(each) && !each.isDependencyTreeStatic())
  return next === undefined ? here : [...here, ...pathToScoped(next, [...seen, wrapper])]
}

function nameOf({ token, metatype, inject }: Wrapper): string {
  // A factory's metatype is its function, and `inject` is a list.
  const isClass = metatype !== null && !Array.isArray(inject)
  if (isClass && metatype.name !== '') return metatype.name
  return typeof token === 'function' ? token.name : String(token)
}
