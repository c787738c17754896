// All limiters of an application, and which of them a handler is limited by.

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
import { policyNames, quote } from '@weir/core/http'
import { type Declared, declaredOn, skippedOn, withoutUndefined } from './decorators.js'
import { invalid } from './exception.js'
import { type Limit, limitOf, type Names } from './limit.js'
import { namesOfClasses } from './names.js'
import type { RateLimitModuleOptions, RateLimitOptions, Settings } from './options.js'
import {
  checkOnce,
  checkOptions,
  classesIn,
  type Handler,
  hasDefault,
  isRoute,
  isWhole,
  namedOptions,
  targetsOf,
} from './set-up.js'
import { OPTIONS } from './tokens.js'

/** The limiters of an application. Inject it to find one by its name: `limits.get(name)`. */
@Injectable()
export class RateLimits implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly modules: ModulesContainer
  private readonly config: ApplicationConfig
  private readonly store: Store
  private readonly closeStore: boolean | (() => unknown)
  /** What decorators inherit. */
  private readonly settings: Settings
  /** By name, each with what named it, if that was not its place. */
  private readonly limits: Map<
    string,
    { readonly limit: Limit; readonly source: object | undefined }
  > = new Map()
  /** All of them, also those that share a name. */
  private readonly limiters: Set<RateLimiter> = new Set()
  /** What holds where no decorator says otherwise. */
  private readonly defaults: Limits
  private readonly classNames: ReadonlyMap<Type, string>
  /** An inherited handler counts for each class. */
  private readonly ofClasses: WeakMap<Type, OfClass> = new WeakMap()
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
      perHandler,
      policies = {},
      defaults = [],
      closeStore,
      ...settings
    } = options
    this.modules = modules
    this.config = config
    this.classNames = namesOfClasses(modules)
    this.store = settings.store ?? memoryStore()
    this.closeStore = closeStore ?? settings.store === undefined
    this.settings = { ...(settings as Settings), store: this.store }
    const { hide } = settings
    const given = { policy, limit, window, perHandler, ...(hide && { hide }) } as RateLimitOptions
    const own = hasDefault(options) ? [this.add(given, sameNames(name), options)] : []
    // The settings are checked, although nothing is limited by them alone.
    if (own.length === 0) limitOf({ policy: () => unlimited() }, this.settings, sameNames(name))
    this.defaults = own
    for (const [key, named] of Object.entries(policies))
      this.add(withoutUndefined(namedOptions(named, key)), sameNames(key), policies)
    this.defaults = [...own, ...defaults.map((key) => this.named(key, 'defaults'))]
    this.prepare()
  }

  /** The limiter of a named policy, of the default policy (`'default'`), or of a decorated class or
   *  handler. Its `enabled` switches also what `perHandler` and decorators make of it. */
  get(name: string): RateLimiter {
    return this.named(name, 'RateLimits.get').limiter
  }

  /** All limiters that there are now, also those that share a name: for metrics. */
  all(): readonly RateLimiter[] {
    return [...this.limiters]
  }

  /** The limiters that a handler is limited by, in the order in which they run. `isForeign`: it is
   *  called by another library, so the defaults are not meant. */
  of(owner: Type, handler: Handler, isForeign = false): Limits {
    const ofClass = this.ofClass(owner)
    const method = ofClass.methods.get(handler) ?? handler.name.replace(/^(bound )+/, '')
    let known = ofClass.known.get(method)
    if (known === undefined) {
      known = this.find(owner, method, ofClass)
      ofClass.known.set(method, known)
    }
    return isForeign && !known.isDeclared ? [] : known.limits
  }

  /** Whether any limiter runs after the guards. */
  get hasLate(): boolean {
    return this.anyLate
  }

  /** Whether a guard is one of the application's global ones. */
  isGlobal(guard: CanActivate): boolean {
    return this.config.getGlobalGuards().includes(guard)
  }

  /** Makes the limiters of all decorators, and so finds mistakes before the first request does. */
  private prepare(): void {
    checkOnce(this.modules)
    const classes = classesIn(this.modules)
    for (const owner of classes) {
      this.ofClass(owner)
      for (const target of targetsOf(owner))
        if (declaredOn(owner, target.method) || isRoute(target)) this.of(owner, target.handler)
    }
    for (const owner of classes) {
      for (const method of [undefined, ...targetsOf(owner).map((target) => target.method)])
        for (const name of skippedOn(owner, method) ?? [])
          this.named(name, `@SkipRateLimit of ${owner.name}`)
    }
  }

  /** Before the server stops to listen, which it does when it has answered all requests: those that
   *  wait for a turn are not to hold it up. */
  beforeApplicationShutdown(): void {
    for (const limiter of this.limiters) limiter.close()
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.closeStore === false) return
    const { closeStore } = this
    await ended('the store was closed', () => this.store.close?.())
    if (typeof closeStore === 'function') await ended('closeStore was called', closeStore)
  }

  private ofClass(owner: Type): OfClass {
    const existing = this.ofClasses.get(owner)
    if (existing !== undefined) return existing
    const declared = declaredOn(owner)
    const none = { all: this.defaults, own: [] }
    const made: OfClass = {
      made: declared ? this.made(declared, { owner, method: undefined }, this.defaults) : none,
      isDeclared: declared !== undefined,
      methods: new Map(targetsOf(owner).map(({ handler, method }) => [handler, method])),
      known: new Map(),
    }
    this.ofClasses.set(owner, made)
    return made
  }

  private find(owner: Type, method: string, ofClass: OfClass): Known {
    const ofMethod = declaredOn(owner, method)
    const made = ofMethod ? this.made(ofMethod, { owner, method }, ofClass.made.all) : ofClass.made
    const ofItself = skippedOn(owner, method)
    const skipped = (ofItself ?? skippedOn(owner))?.map((name) => this.called(name))
    // A class frees no method from its own decorator.
    const kept = ofMethod && ofItself === undefined ? made.own : []
    const isSkipped = (limit: Limit) =>
      skipped !== undefined &&
      !kept.includes(limit) &&
      (skipped.length === 0 || skipped.includes(limit.names.name))
    const limits = made.all
      .filter((limit) => !isSkipped(limit))
      .map((limit) => (limit.options.perHandler ? this.ofHandler(limit, owner, method) : limit))
    return { limits, isDeclared: ofMethod !== undefined || ofClass.isDeclared }
  }

  /** The limiters of one decorator: a class's are the class's, a method's are its handler's.
   *  `held`: those that hold without it. */
  private made(declared: Declared, place: Place, held: Limits): Made {
    const { also, names, options, override } = declared
    const { owner, method } = place
    const ofClass = this.nameOf(owner)
    const automatic = method === undefined ? ofClass : `${ofClass}.${method}`
    const where = `@RateLimit of ${automatic}`
    if (override !== undefined) {
      const unknown = Object.keys(override).find(
        (name) => !held.some((one) => one.names.name === name),
      )
      if (unknown !== undefined)
        throw invalid(`${where} overrides "${unknown}", but there ${listed(held)}`)
      // No method is called as a class's is then.
      const separator = method === undefined ? '-' : '.'
      const all = held.map((limit) => {
        const changes = override[limit.names.name]
        return changes
          ? this.changed(limit, changes, `${automatic}${separator}${limit.names.name}`, place)
          : limit
      })
      return { all, own: all.filter((limit) => !held.includes(limit)) }
    }
    if (options !== undefined && !isWhole(options)) {
      const isOne = held.length === 1 || !isOwn(options)
      if (also || held.length === 0 || !isOne) {
        const why = also ? 'adds a limiter' : `changes what holds here, and there ${listed(held)}`
        const right = 'give policy, or limit and window; or { override: { name: options } }'
        throw invalid(`${where} ${why}; ${right}`)
      }
      const all = held.map((limit) => this.changed(limit, options, automatic, place))
      return { all, own: all }
    }
    const own = options
      ? [this.add(options, namesOf(options, automatic, method), sourceOf(options))]
      : names.map((name) => this.named(name, where))
    return { all: [...new Set([...(also ? this.defaults : []), ...own])], own }
  }

  /** A limiter with changes: on the same counters, or else a limiter of its own. */
  private changed(
    base: Limit,
    changes: RateLimitOptions,
    automatic: string,
    { method }: Place,
  ): Limit {
    if (!isOwn(changes)) {
      const given = { ...behind(base.given, changes), ...changes } as RateLimitOptions
      return this.build(given, base.names, { shared: true })
    }
    const { policy, limit, window, name: _, ...others } = behind(base.given, changes)
    const isWithout = limit === undefined && !isWhole(changes)
    if (isWithout && ('limit' in changes || 'window' in changes)) {
      throw invalid(
        `@RateLimit of ${automatic} changes a limit or a window, but "${base.names.name}" has a policy; give one, or both limit and window`,
      )
    }
    const allowance = isWhole(changes) ? {} : { policy, limit, window }
    const given = { ...others, ...allowance, ...changes } as RateLimitOptions
    const { name: limiter = automatic, name: shown = base.names.shown } = changes
    const own = method === undefined ? given : { ...given, perHandler: false }
    return this.add(own, { ...base.names, limiter, shown }, sourceOf(changes))
  }

  private ofHandler({ given, names }: Limit, owner: Type, method: string): Limit {
    const { name = names.name } = given
    const limiter = `${this.nameOf(owner)}.${method}.${name}`
    return this.add({ ...given, perHandler: false }, { ...names, limiter })
  }

  /** `source`: what names the limiter; without, it is called as the class and the method are. */
  private add(given: RateLimitOptions, names: Names, source?: object): Limit {
    const known = this.limits.get(names.limiter)
    if (source !== undefined && known?.source === source) return known.limit
    if (known !== undefined && !given.shared) {
      const remedy =
        'give one of them a name: @RateLimit({ name, ... }); or shared: true if they are to count together'
      throw invalid(
        `two limiters are called "${names.limiter}", so they would count together; ${remedy}`,
        'WEIR_NAME_CLASH',
      )
    }
    const limit = this.build(given, names)
    if (known === undefined) this.limits.set(names.limiter, { limit, source })
    return limit
  }

  private build(given: RateLimitOptions, names: Names, shared?: { shared: true }): Limit {
    try {
      const inherited = { ...behind(this.settings, given), ...this.hidden(given, names), ...shared }
      const limit = limitOf(given, inherited, names, this.limits.get(names.name)?.limit.limiter)
      this.limiters.add(limit.limiter)
      this.anyLate ||= limit.isLate
      return limit
    } catch (error) {
      if (error instanceof Error) error.message = `limiter of ${names.limiter}: ${error.message}`
      throw error
    }
  }

  /** Of the policies that the module hides, those that there are: it may hide one that only some
   *  decorators have. */
  private hidden({ policy }: RateLimitOptions, { limiter, shown }: Names): Settings {
    const { hide } = this.settings
    if (hide === undefined || typeof policy === 'function') return {}
    const names = policy === undefined ? [shown] : policyNames(policy, limiter)
    return { hide: hide.filter((hidden) => names.includes(hidden)) }
  }

  private nameOf(owner: Type): string {
    return this.classNames.get(owner) ?? owner.name
  }

  /** What the module calls it: its default may have a name of its own. */
  private called(name: string): string {
    const isDefault = name === 'default' && !this.limits.has(name)
    return (isDefault && this.defaults[0]?.names.name) || name
  }

  private named(name: string, where: string): Limit {
    const found =
      this.limits.get(this.called(name)) ??
      // By what metrics call it, where that is shortened.
      [...this.limits.values()].find(({ limit }) => limit.limiter.name === name)
    if (found !== undefined) return found.limit
    throw invalid(`${where}: there is no limiter "${name}"; there are ${some(this.limits.keys())}`)
  }
}

/** A server that is away must not turn the shutdown of the application into a failure. */
async function ended(what: string, end: () => unknown): Promise<void> {
  try {
    await end()
  } catch (error) {
    const why = error instanceof Error ? error.message : quote(error)
    new Logger('RateLimitModule').warn(`${what}, and failed: ${why}`)
  }
}

type Limits = readonly Limit[]

interface Known {
  readonly limits: Limits
  /** Whether a decorator says so. */
  readonly isDeclared: boolean
}

interface OfClass {
  /** By its own decorator, or else the defaults. */
  readonly made: Made
  readonly isDeclared: boolean
  /** The names by which the class has its methods: by those their decorators are found. */
  readonly methods: ReadonlyMap<object, string>
  /** By method. */
  readonly known: Map<string, Known>
}

/** Where a decorator is written: on a class, or on one of its methods. */
interface Place {
  readonly owner: Type
  readonly method: string | undefined
}

/** What holds, and which of it the decorator itself names or changes. */
interface Made {
  readonly all: Limits
  readonly own: Limits
}

/** What is inherited, without what the nearer options leave no use for: keys of their own, or a
 *  prefix of addresses. */
function behind<Options extends Settings>(far: Options, { key, ipv6Prefix }: Settings): Options {
  const prefix = key === undefined ? {} : { ipv6Prefix: undefined }
  return { ...far, ...prefix, ...(ipv6Prefix !== undefined && { key: undefined }) }
}

/** Whether changes make a limiter of its own: what allows something else shares no counters. */
function isOwn(changes: RateLimitOptions): boolean {
  return isWhole(changes) || ['limit', 'window', 'name'].some((name) => name in changes)
}

function listed(limits: Limits): string {
  const names = limits.map((limit) => limit.names.name)
  return names.length === 0 ? 'is none' : `are ${names.join(', ')}`
}

/** The first of them: there may be hundreds. */
function some(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length > MOST_LISTED ? ` and ${all.length - MOST_LISTED} more` : ''
  return all.slice(0, MOST_LISTED).join(', ') + more || 'none'
}

const MOST_LISTED = 20

function sameNames(name: string): Names {
  return { name, limiter: name, shown: name }
}

function namesOf({ name }: RateLimitOptions, automatic: string, method?: string): Names {
  if (name !== undefined) return sameNames(name)
  const shown = method === undefined ? 'group' : 'handler'
  return { name: automatic, limiter: automatic, shown }
}

/** Under a name of its own, a decorator is one limiter wherever it is written. */
function sourceOf(options: RateLimitOptions): object | undefined {
  return options.name === undefined ? undefined : options
}
