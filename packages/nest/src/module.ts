import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type ConfigurableModuleCls,
  type DynamicModule,
  Inject,
  Module,
  type OnModuleInit,
  Optional,
  type Provider,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core'
import { quote } from '@weir/core/internal'
import { checkEnforced } from './enforcement.js'
import { invalid, RateLimitFilter } from './exception.js'
import { leftTo, RateLimitGuard } from './guard.js'
import { RateLimits } from './limits.js'
import type { NestRequest, RateLimitModuleOptions } from './options.js'
import { scopeCheck } from './scope.js'
import { checkGiven, hasDefault } from './set-up.js'
import { GUARD, getRateLimiterToken, LIMITS, OPTIONS, SCOPE_CHECK, SET_UP } from './tokens.js'

/** What `forRoot` takes among its options, and `forRootAsync` beside its factory. */
export interface RateLimitModuleExtras {
  /** Whether other modules can inject what this one exports without importing it. Default true. */
  readonly global?: boolean | undefined
  /** The global guard: your own, derived from `RateLimitGuard`, or `false` for none. Default:
   *  `RateLimitGuard`. */
  readonly guard?: Type<RateLimitGuard> | false | undefined
}

/** For `useClass` and `useExisting`. */
export interface RateLimitOptionsFactory<Req = NestRequest> {
  createRateLimitOptions(): RateLimitModuleOptions<Req> | Promise<RateLimitModuleOptions<Req>>
}

type Method = 'createRateLimitOptions'
type AsyncOptions<Req> = ConfigurableModuleAsyncOptions<RateLimitModuleOptions<Req>, Method> &
  RateLimitModuleExtras

const Configured: ConfigurableModuleCls<
  RateLimitModuleOptions,
  'forRoot',
  Method,
  RateLimitModuleExtras
> = new ConfigurableModuleBuilder<RateLimitModuleOptions>({ optionsInjectionToken: OPTIONS })
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras({ global: true, guard: RateLimitGuard } as RateLimitModuleExtras, defined)
  .build().ConfigurableModuleClass

function defined(definition: DynamicModule, extras: RateLimitModuleExtras): DynamicModule {
  const { global = true, guard = RateLimitGuard } = extras
  if (guard !== false && typeof guard !== 'function')
    throw invalid(`guard is ${quote(guard)}; give a class derived from RateLimitGuard, or false`)
  const providers: Provider[] = [
    RateLimits,
    { provide: LIMITS, useExisting: RateLimits },
    { provide: RateLimitGuard, useClass: guard || RateLimitGuard },
    { provide: GUARD, useExisting: RateLimitGuard },
    { provide: SCOPE_CHECK, useFactory: scopeCheck, inject: [ModulesContainer] },
    {
      provide: SET_UP,
      useFactory: setUp(guard !== false),
      inject: [ApplicationConfig, ModulesContainer, HttpAdapterHost, GUARD, LIMITS],
    },
  ]
  return {
    ...definition,
    global,
    providers: [...(definition.providers ?? []), ...providers],
    exports: [OPTIONS, LIMITS, RateLimits, GUARD, RateLimitGuard],
  }
}

/**
 * Registers the global guard, interceptor and filter. Nest adds the application's own when all
 * providers are made, whatever the order of imports: so this guard runs before theirs, and their
 * filters, which Nest asks from the last to the first, before this one.
 */
function setUp(isGlobal: boolean) {
  return (
    config: ApplicationConfig,
    modules: ModulesContainer,
    host: HttpAdapterHost,
    guard: RateLimitGuard,
    limits: RateLimits,
  ): OnModuleInit => {
    config.useGlobalFilters(new RateLimitFilter())
    if (isGlobal) config.useGlobalGuards(guard)
    // Nest takes longer for every request if there is an interceptor.
    if (limits.isIntercepting) config.useGlobalInterceptors(leftTo(guard))
    return {
      onModuleInit: () =>
        checkEnforced(modules, config, limits, isGlobal, Boolean(host.httpAdapter)),
    }
  }
}

/** The providers of limiters, for `@InjectRateLimiter`. */
function limiters(
  names: readonly string[],
): Required<Pick<DynamicModule, 'providers' | 'exports'>> {
  const providers = names.map((name) => ({
    provide: getRateLimiterToken(name),
    useFactory: (limits: RateLimits) => limits.get(name),
    inject: [LIMITS],
  }))
  return { providers, exports: providers.map(({ provide }) => provide) }
}

/** Limits an application. Import it once, by `forRoot` or by `forRootAsync`. */
@Module({})
export class RateLimitModule {
  constructor(@Optional() @Inject(LIMITS) limits?: RateLimits) {
    if (limits !== undefined) return
    throw invalid(
      'RateLimitModule is imported without being configured: import RateLimitModule.forRoot({ ... }), once; with global: false, that same value wherever it is needed',
      'WEIR_NOT_ENFORCED',
    )
  }

  /** For options that are known at once. `@InjectRateLimiter(name)` then works everywhere. */
  static forRoot<Req = NestRequest>(
    options: RateLimitModuleOptions<Req> & RateLimitModuleExtras,
  ): DynamicModule {
    checkGiven(options)
    const definition = Configured.forRoot(options as RateLimitModuleOptions)
    const { name = 'default', policies = {} } = options
    const own = hasDefault(options) ? ['default', name] : []
    const named = limiters([...new Set([...own, ...Object.keys(policies)])])
    return {
      ...definition,
      module: RateLimitModule,
      providers: [...(definition.providers ?? []), ...named.providers],
      exports: [...(definition.exports ?? []), ...named.exports],
    }
  }

  /**
   * For options that depend on other providers: `useFactory`, with `imports` and `inject`, or
   * `useClass` or `useExisting`, a class with `createRateLimitOptions()`; `global` and `guard` as
   * for `forRoot`. The factory runs once, and must not depend on a request-scoped provider.
   */
  static forRootAsync<Req = NestRequest>(options: AsyncOptions<Req>): DynamicModule {
    return {
      ...Configured.forRootAsync(options as AsyncOptions<NestRequest>),
      module: RateLimitModule,
    }
  }

  /** Makes `@InjectRateLimiter(name)` available in the module that imports it, after
   *  `forRootAsync`. */
  static forFeature(...names: string[]): DynamicModule {
    return { module: RateLimitFeature, ...limiters(names) }
  }
}

@Module({})
class RateLimitFeature {}
