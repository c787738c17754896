// All limiters of an application, and which of them a handler is limited by.

import {
  Inject,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Type,
} from '@nestjs/common'
import { ModulesContainer } from '@nestjs/core'
import { memoryStore, type RateLimiter, type Store, unlimited } from '@weir/core'
import { policyNames } from '@weir/core/http'
import { type Declared, declaredOn, skippedOn } from './decorators.js'
import { invalid } from './exception.js'
import { type Limit, limitOf } from './limit.js'
import type { RateLimitModuleOptions, RateLimitOptions, Settings } from './options.js'
import {
  checkOptions,
  checkSetUp,
  type Handler,
  hasDefault,
  namedOptions,
  targetsIn,
} from './set-up.js'
import { OPTIONS } from './tokens.js'

/** The limiters of an application. Inject it to find one by its name: `limits.get(name)`. */
@Injectable()
export class RateLimits implements OnModuleInit, OnApplicationShutdown {
  readonly #modules: ModulesContainer
  readonly #store: Store
  readonly #closes: boolean
  /** What decorators inherit. */
  readonly #settings: Settings
  /** By name, each with the decorator or class that it was made for. */
  readonly #limits: Map<string, { readonly limit: Limit; readonly source: object }> = new Map()
  readonly #default: readonly Limit[]
  readonly #ofHandlers: WeakMap<object, Map<object, readonly Limit[]>> = new WeakMap()

  constructor(
    @Inject(OPTIONS) options: RateLimitModuleOptions,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    checkOptions(options)
    const {
      name = 'default',
      policy,
      limit,
      window,
      policies = {},
      closeStore,
      ...settings
    } = options
    this.#modules = modules
    this.#store = settings.store ?? memoryStore()
    this.#closes = closeStore ?? settings.store === undefined
    this.#settings = { ...(settings as Settings), store: this.#store }
    const own = { ...this.#settings, policy, limit, window } as RateLimitOptions
    if (hasDefault(options)) this.#default = [this.#add(own, name, options)]
    else {
      // The settings are checked, although nothing is limited by them alone.
      limitOf({ ...this.#settings, policy: () => unlimited() }, name)
      this.#default = []
    }
    for (const [key, named] of Object.entries(policies))
      this.#add(namedOptions(named, key), key, policies)
  }

  /** The limiter of a named policy, of the default policy (`'default'`), or of a decorated class or
   *  handler. */
  get(name: string): RateLimiter {
    return this.#named(name, 'RateLimits.get').limiter
  }

  /** The limiters that a handler is limited by, in the order in which they run. */
  of(owner: Type, handler: Handler): readonly Limit[] {
    let known = this.#ofHandlers.get(owner)
    if (known === undefined) {
      known = new Map()
      this.#ofHandlers.set(owner, known)
    }
    let limits = known.get(handler)
    if (limits === undefined) {
      limits = this.#find(owner, handler)
      known.set(handler, limits)
    }
    return limits
  }

  /** Finds mistakes before the first request does. */
  onModuleInit(): void {
    checkSetUp(this.#modules)
    const targets = targetsIn(this.#modules)
    for (const { owner, target } of targets) {
      const declared = declaredOn(target)
      if (declared) this.#made(declared, owner, target)
    }
    for (const { owner, target } of targets)
      for (const name of skippedOn(target) ?? [])
        this.#named(name, `@SkipRateLimit of ${owner.name}`)
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.#closes) await this.#store.close?.()
  }

  #find(owner: Type, handler: Handler): readonly Limit[] {
    const own = declaredOn(handler)
    const declared = own ?? declaredOn(owner)
    const made = declared ? this.#made(declared, owner, own ? handler : owner) : []
    const limits = new Set([...(declared?.also === false ? [] : this.#default), ...made])
    const skipped = skippedOn(handler) ?? skippedOn(owner)
    if (skipped === undefined) return [...limits]
    // A class frees no method from its own decorator.
    const kept = own && skippedOn(handler) === undefined ? made : []
    return [...limits].filter(
      (limit) => kept.includes(limit) || (skipped.length > 0 && !skipped.includes(limit.name)),
    )
  }

  /** The limiters of one decorator: a class's are the class's, a method's are its handler's. */
  #made({ names, options }: Declared, owner: Type, target: Handler): readonly Limit[] {
    const automatic = target === owner ? owner.name : `${owner.name}.${target.name}`
    if (options === undefined)
      return names.map((name) => this.#named(name, `@RateLimit of ${automatic}`))
    // Under a name of its own, a decorator is one limiter wherever it is written.
    return [
      this.#add(options, options.name ?? automatic, options.name === undefined ? owner : options),
    ]
  }

  /** `source`: a class, where the name is made of those of the class and the method. */
  #add(options: RateLimitOptions, name: string, source: object): Limit {
    const known = this.#limits.get(name)
    if (known?.source === source) return known.limit
    if (known !== undefined && !options.shared) {
      const remedy =
        'give one of them a name: @RateLimit({ name, policy }); or shared: true if they are to count together'
      throw invalid(
        `two limiters are called "${name}", so they would count together; ${remedy}`,
        'WEIR_NAME_CLASH',
      )
    }
    const limit = this.#build(options, name, typeof source === 'function')
    if (known === undefined) this.#limits.set(name, { limit, source })
    return limit
  }

  #build(options: RateLimitOptions, name: string, automatic: boolean): Limit {
    try {
      // With a key of its own, a decorator has no use for the module's prefix of addresses.
      const unused = options.key === undefined ? {} : { ipv6Prefix: undefined }
      const inherited = { ...this.#settings, ...unused, ...this.#hidden(options, name) }
      return limitOf({ ...inherited, ...options }, name)
    } catch (error) {
      const { code } = error as { code?: unknown }
      const remedy =
        automatic && code === 'WEIR_INVALID_NAME' ? '; name it: @RateLimit({ name, ... })' : ''
      if (error instanceof Error) error.message = `limiter of ${name}: ${error.message}${remedy}`
      throw error
    }
  }

  /** Of the policies that the module hides, those that there are: it may hide one that only some
   *  decorators have. */
  #hidden({ policy }: RateLimitOptions, name: string): Settings {
    const { hide } = this.#settings
    if (hide === undefined || typeof policy === 'function') return {}
    const names = policy === undefined ? [name] : policyNames(policy, name)
    return { hide: hide.filter((hidden) => names.includes(hidden)) }
  }

  #named(name: string, where: string): Limit {
    const limit =
      this.#limits.get(name)?.limit ?? (name === 'default' ? this.#default[0] : undefined)
    if (limit !== undefined) return limit
    throw invalid(
      `${where}: there is no limiter "${name}"; there are ${[...this.#limits.keys()].join(', ') || 'none'}`,
    )
  }
}
