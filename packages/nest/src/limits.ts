// The limiters of a Nest application: the injectable class, and its life cycle.

import {
  type BeforeApplicationShutdown,
  type CanActivate,
  Inject,
  Injectable,
  Logger,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import { memoryStore, type RateLimiter, type Store, unlimited } from '@weir/core'
import { quote } from '@weir/core/internal'
import { withoutUndefined } from './decorators.js'
import { type Limits, limitOf, sameNames } from './limit.js'
import type { RateLimitModuleOptions, RateLimitOptions, Settings } from './options.js'
import { type Registry, registryOf } from './registry.js'
import { type Resolve, resolution } from './resolution.js'
import { checkOptions, type Handler, hasDefault, namedOptions } from './set-up.js'
import { OPTIONS } from './tokens.js'

/** An application's limiters. Inject it to find one by its name: `limits.get(name)`. */
@Injectable()
export class RateLimits implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly config: ApplicationConfig
  private readonly store: Store
  private readonly closeStore: boolean | (() => unknown)
  private readonly registry: Registry
  private readonly resolve: Resolve

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
      perHandler,
      policies = {},
      defaults = [],
      closeStore,
      ...settings
    } = options
    this.config = config
    this.store = settings.store ?? memoryStore()
    this.closeStore = closeStore ?? settings.store === undefined
    const inherited = { ...(settings as Settings), store: this.store }
    const registry = registryOf(inherited)
    this.registry = registry
    const { hide } = settings
    const given = { policy, limit, window, perHandler, ...(hide && { hide }) } as RateLimitOptions
    const own = hasDefault(options) ? [registry.add(given, sameNames(name), options)] : []
    // Checks the settings, although they limit nothing by themselves.
    if (own.length === 0) limitOf({ policy: () => unlimited() }, inherited, sameNames(name))
    registry.defaults = own
    for (const [key, named] of Object.entries(policies))
      registry.add(withoutUndefined(namedOptions(named, key)), sameNames(key), policies)
    registry.defaults = [...own, ...defaults.map((key) => registry.named(key, 'defaults'))]
    this.resolve = resolution(registry, modules)
  }

  /** The limiter of a named policy, of the default policy (`'default'`), or of a decorated class or
   *  handler. Its `enabled` also switches the limiters that `perHandler` and decorators make from
   *  it. */
  get(name: string): RateLimiter {
    return this.registry.named(name, 'RateLimits.get').limiter
  }

  /** All limiters that exist now, including those that share a name: for metrics. */
  all(): readonly RateLimiter[] {
    return [...this.registry.limiters]
  }

  /** The limiters that limit a handler, in the order in which they run. `isForeign`: another
   *  library calls the handler, so the defaults are not meant for it. */
  of(owner: Type, handler: Handler, isForeign = false): Limits {
    const { limits, isDeclared } = this.resolve(owner, handler)
    return isForeign && !isDeclared ? [] : limits
  }

  /** Whether an interceptor is needed: a limiter runs after the guards, or may hold slots. */
  get isIntercepting(): boolean {
    return this.registry.isIntercepting
  }

  /** Whether a guard is one of the application's global ones. */
  isGlobal(guard: CanActivate): boolean {
    return this.config.getGlobalGuards().includes(guard)
  }

  /** Runs before the server stops listening, which it does when it has answered all requests: a
   *  request that waits for its turn must not hold that up. */
  beforeApplicationShutdown(): void {
    for (const limiter of this.registry.limiters) limiter.close()
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.closeStore === false) return
    const { closeStore } = this
    await ended('the store was closed', () => this.store.close?.())
    if (typeof closeStore === 'function') await ended('closeStore was called', closeStore)
  }
}

/** A server that is away must not make the application's shutdown fail. */
async function ended(what: string, end: () => unknown): Promise<void> {
  try {
    await end()
  } catch (error) {
    const why = quote(error instanceof Error ? error.message : error)
    new Logger('RateLimitModule').warn(`${what}, and failed: ${why}`)
  }
}
