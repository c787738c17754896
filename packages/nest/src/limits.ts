// All limiters of an application, and which of them a handler is limited by.

import {
  type CanActivate,
  Inject,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import { memoryStore, type RateLimiter, type Store, unlimited } from '@weir/core'
import { policyNames } from '@weir/core/http'
import { type Declared, declaredOn, skippedOn } from './decorators.js'
import { invalid } from './exception.js'
import { type Limit, limitOf } from './limit.js'
import type { RateLimitModuleOptions, RateLimitOptions, Settings } from './options.js'
import {
  checkGuard,
  checkOnce,
  checkOptions,
  classesIn,
  type Handler,
  hasDefault,
  methodOf,
  namedOptions,
  targetsOf,
} from './set-up.js'
import { OPTIONS } from './tokens.js'

@Injectable()
export class RateLimits implements OnModuleInit, OnApplicationShutdown {
  private readonly modules: ModulesContainer
  private readonly config: ApplicationConfig
  private readonly store: Store
  private readonly closes: boolean
  /** What decorators inherit. */
  private readonly settings: Settings
  /** By name, each with the decorator or class that it was made for. */
  private readonly limits: Map<string, { readonly limit: Limit; readonly source: object }> =
    new Map()
  private readonly default: readonly Limit[]
  private readonly ofHandlers: WeakMap<object, Map<object, readonly Limit[]>> = new WeakMap()
  private anyLate = false

  constructor(
    @Inject(OPTIONS) options: RateLimitModuleOptions,
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ApplicationConfig) config: ApplicationConfig,
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
    this.modules = modules
    this.config = config
    this.store = settings.store ?? memoryStore()
    this.closes = closeStore ?? settings.store === undefined
    this.settings = { ...(settings as Settings), store: this.store }
    const own = { ...this.settings, policy, limit, window } as RateLimitOptions
    if (hasDefault(options)) this.default = [this.add(own, name, options)]
    else {
      // The settings are checked, although nothing is limited by them alone.
      limitOf({ ...this.settings, policy: () => unlimited() }, name)
      this.default = []
    }
    for (const [key, named] of Object.entries(policies))
      this.add(namedOptions(named, key), key, policies)
    this.prepare()
  }

  /** The limiter of a named policy, of the default policy (`'default'`), or of a decorated class or
   *  handler. */
  get(name: string): RateLimiter {
    return this.named(name, 'RateLimits.get').limiter
  }

  /** The limiters that a handler is limited by, in the order in which they run. */
  of(owner: Type, handler: Handler): readonly Limit[] {
    let known = this.ofHandlers.get(owner)
    if (known === undefined) {
      known = new Map()
      this.ofHandlers.set(owner, known)
    }
    let limits = known.get(handler)
    if (limits === undefined) {
      limits = this.find(owner, methodOf(owner, handler))
      known.set(handler, limits)
    }
    return limits
  }

  /** Whether any limiter runs after the guards. */
  get hasLate(): boolean {
    return this.anyLate
  }

  /** Whether a guard is one of the application's global ones. */
  isGlobal(guard: CanActivate): boolean {
    return this.config.getGlobalGuards().includes(guard)
  }

  onModuleInit(): void {
    checkGuard(this.modules)
  }

  /** Makes the limiters of all decorators, and so finds mistakes before the first request does. */
  private prepare(): void {
    checkOnce(this.modules)
    const targets = classesIn(this.modules).flatMap((owner) => [{ owner }, ...targetsOf(owner)])
    const marked: readonly { owner: Type; method?: string }[] = targets
    for (const { owner, method } of marked) {
      const declared = declaredOn(owner, method)
      if (declared) this.made(declared, owner, method)
    }
    for (const { owner, method } of marked)
      for (const name of skippedOn(owner, method) ?? [])
        this.named(name, `@SkipRateLimit of ${owner.name}`)
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.closes) await this.store.close?.()
  }

  private find(owner: Type, method: string): readonly Limit[] {
    const own = declaredOn(owner, method)
    const declared = own ?? declaredOn(owner)
    const made = declared ? this.made(declared, owner, own ? method : undefined) : []
    const limits = new Set([...(declared?.also === false ? [] : this.default), ...made])
    const skipped = skippedOn(owner, method) ?? skippedOn(owner)
    if (skipped === undefined) return [...limits]
    // A class frees no method from its own decorator.
    const kept = own && skippedOn(owner, method) === undefined ? made : []
    return [...limits].filter(
      (limit) => kept.includes(limit) || (skipped.length > 0 && !skipped.includes(limit.name)),
    )
  }

  /** The limiters of one decorator: a class's are the class's, a method's are its handler's. */
  private made(
    { names, options }: Declared,
    owner: Type,
    method: string | undefined,
  ): readonly Limit[] {
    const automatic = method === undefined ? owner.name : `${owner.name}.${method}`
    if (options === undefined)
      return names.map((name) => this.named(name, `@RateLimit of ${automatic}`))
    // Under a name of its own, a decorator is one limiter wherever it is written.
    return [
      this.add(options, options.name ?? automatic, options.name === undefined ? owner : options),
    ]
  }

  /** `source`: a class, where the name is made of those of the class and the method. */
  private add(options: RateLimitOptions, name: string, source: object): Limit {
    const known = this.limits.get(name)
    if (known?.source === source) return known.limit
    if (known !== undefined && !options.shared) {
      const remedy =
        'give one of them a name: @RateLimit({ name, policy }); or shared: true if they are to count together'
      throw invalid(
        `two limiters are called "${name}", so they would count together; ${remedy}`,
        'WEIR_NAME_CLASH',
      )
    }
    const limit = this.build(options, name, typeof source === 'function')
    this.anyLate ||= limit.isLate
    if (known === undefined) this.limits.set(name, { limit, source })
    return limit
  }

  private build(options: RateLimitOptions, name: string, automatic: boolean): Limit {
    try {
      return limitOf({ ...this.settings, ...this.hidden(options, name), ...options }, name)
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
  private hidden({ policy }: RateLimitOptions, name: string): Settings {
    const { hide } = this.settings
    if (hide === undefined || typeof policy === 'function') return {}
    const names = policy === undefined ? [name] : policyNames(policy, name)
    return { hide: hide.filter((hidden) => names.includes(hidden)) }
  }

  private named(name: string, where: string): Limit {
    const limit = this.limits.get(name)?.limit ?? (name === 'default' ? this.default[0] : undefined)
    if (limit !== undefined) return limit
    throw invalid(
      `${where}: there is no limiter "${name}"; there are ${[...this.limits.keys()].join(', ') || 'none'}`,
    )
  }
}
