// All limiters of an application, and which of them a handler is limited by.

import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit, type Type } from '@nestjs/common'
import { MetadataScanner, ModulesContainer } from '@nestjs/core'
import { memoryStore, type RateLimiter, type Store } from '@weir/core'
import { type Declared, declaredOn, skippedOn } from './decorators.js'
import { invalid } from './exception.js'
import { type Limit, limitOf, namedOptions } from './limit.js'
import type { RateLimitModuleOptions, RateLimitOptions } from './options.js'
import { OPTIONS } from './tokens.js'

type Handler = { readonly name: string }

@Injectable()
export class RateLimits implements OnModuleInit, OnApplicationShutdown {
  readonly #modules: ModulesContainer
  readonly #store: Store
  readonly #closes: boolean
  /** What decorators inherit. */
  readonly #settings: Partial<RateLimitOptions>
  /** By name, each with whom it was made for. */
  readonly #limits: Map<string, { readonly limit: Limit; readonly source: object }> = new Map()
  readonly #default: readonly Limit[] = []
  readonly #ofHandlers: WeakMap<object, Map<object, readonly Limit[]>> = new WeakMap()

  constructor(
    @Inject(OPTIONS) options: RateLimitModuleOptions,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    const { name = 'default', policy, limit, window, policies = {}, closeStore, store, ...settings } = options
    this.#modules = modules
    this.#store = store ?? memoryStore()
    this.#closes = closeStore ?? store === undefined
    this.#settings = { ...settings, store: this.#store }
    if (policy ?? limit ?? window) {
      const allowance = {
        ...(policy !== undefined && { policy }),
        ...(limit !== undefined && { limit, window }),
      }
      this.#default = [this.#add(allowance as RateLimitOptions, name, options)]
    }
    for (const [own, named] of Object.entries(policies)) this.#add(namedOptions(named), own, policies)
  }

  /** The limiter of a named policy, of the default policy (`'default'`), or of a decorated class or handler. */
  get(name: string): RateLimiter {
    return this.#named(name, 'RateLimits.get').limiter
  }

  /** The limiters that a handler is limited by, in the order in which they are asked. */
  of(owner: Type, handler: Handler): readonly Limit[] {
    const known = this.#ofHandlers.get(owner) ?? new Map<object, readonly Limit[]>()
    const limits = known.get(handler) ?? this.#find(owner, handler)
    this.#ofHandlers.set(owner, known.set(handler, limits))
    return limits
  }

  /** Finds what is wrong with any decorator before the first request does. */
  onModuleInit(): void {
    const classes = new Set<Type>()
    for (const { controllers, providers } of this.#modules.values()) {
      for (const { metatype } of [...controllers.values(), ...providers.values()]) {
        if (typeof metatype === 'function' && metatype.prototype) classes.add(metatype as Type)
      }
    }
    const skips = [...classes].flatMap((owner) => this.#survey(owner))
    for (const [where, name] of skips) this.#named(name, where)
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.#closes) await this.#store.close?.()
  }

  /** Makes the limiters of a class, and gives the names that it skips. */
  #survey(owner: Type): [where: string, name: string][] {
    const methods = new MetadataScanner().getAllMethodNames(owner.prototype)
    const handlers: Handler[] = methods.map((method) => owner.prototype[method])
    const marked = [owner, ...handlers].filter((target) => declaredOn(target) ?? skippedOn(target))
    for (const target of marked) {
      if (declaredOn(target)) {
        this.#made(declaredOn(target) as Declared, owner, target)
      }
    }
    return marked.flatMap((target) =>
      (skippedOn(target) ?? []).map((name): [string, string] => [`@SkipRateLimit of ${owner.name}`, name]),
    )
  }

  #find(owner: Type, handler: Handler): readonly Limit[] {
    const own = declaredOn(handler)
    const declared = own ?? declaredOn(owner)
    const made = declared ? this.#made(declared, owner, own ? handler : owner) : []
    const limits = new Set([...(declared?.also === false ? [] : this.#default), ...made])
    const skipped = skippedOn(handler) ?? skippedOn(owner)
    if (skipped === undefined) return [...limits]
    // A method with a limit of its own is not freed by its class.
    if (skipped.length === 0) return own && skippedOn(handler) === undefined ? [...limits] : []
    return [...limits].filter(({ name }) => !skipped.includes(name))
  }

  /** The limiters of one decorator: a class's are the class's, a method's are its handler's. */
  #made({ names, options }: Declared, owner: Type, target: Handler): readonly Limit[] {
    const automatic = target === owner ? owner.name : `${owner.name}.${target.name}`
    if (options === undefined) return names.map((name) => this.#named(name, `@RateLimit of ${automatic}`))
    // Under a name of its own, a decorator is one limiter wherever it is written.
    return [this.#add(options, options.name ?? automatic, options.name === undefined ? owner : options)]
  }

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
    const limit = this.#build({ ...this.#settings, ...options } as RateLimitOptions, name)
    if (known === undefined) this.#limits.set(name, { limit, source })
    return limit
  }

  #build(options: RateLimitOptions, name: string): Limit {
    try {
      return limitOf(options, name)
    } catch (error) {
      if (error instanceof Error) error.message = `limiter of ${name}: ${error.message}`
      throw error
    }
  }

  #named(name: string, where: string): Limit {
    const limit = this.#limits.get(name)?.limit ?? (name === 'default' ? this.#default[0] : undefined)
    if (limit !== undefined) return limit
    throw invalid(
      `${where}: there is no limiter "${name}"; there are ${[...this.#limits.keys()].join(', ') || 'none'}`,
    )
  }
}
