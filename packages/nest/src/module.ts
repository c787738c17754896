import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type ConfigurableModuleCls,
  type DynamicModule,
  Inject,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR, ApplicationConfig } from '@nestjs/core'
import { isDecoratedAfterGuards } from './decorators.js'
import { RateLimitFilter } from './exception.js'
import { RateLimitGuard, RateLimitInterceptor } from './guard.js'
import { RateLimits } from './limits.js'
import type { NestRequest, RateLimitModuleOptions } from './options.js'
import { asksAfterGuards, hasDefault } from './set-up.js'
import { GUARD, LIMITS, limiterToken, OPTIONS } from './tokens.js'

/** What `forRoot` takes besides, and `forRootAsync` beside its factory. */
export interface RateLimitModuleExtras {
  /** Whether the guard is registered for the whole application. Default true. */
  readonly global?: boolean | undefined
  /** A guard of your own, derived from `RateLimitGuard`. */
  readonly guard?: Type<RateLimitGuard> | undefined
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
  const providers: Provider[] = [
    { provide: LIMITS, useClass: RateLimits },
    { provide: RateLimits, useExisting: LIMITS },
    { provide: GUARD, useClass: guard },
  ]
  const everywhere: Provider[] = [
    { provide: APP_GUARD, useExisting: GUARD },
    { provide: APP_INTERCEPTOR, useFactory: interceptorFor, inject: [GUARD, OPTIONS] },
  ]
  return {
    ...definition,
    global: true,
    providers: [...(definition.providers ?? []), ...providers, ...(global ? everywhere : [])],
    exports: [LIMITS, RateLimits, GUARD],
  }
}

/**
 * Where there is an interceptor, Nest takes longer for every request, so there is one only where it
 * is needed.
 */
function interceptorFor(
  guard: RateLimitGuard,
  options: RateLimitModuleOptions,
): RateLimitInterceptor | undefined {
  if (!isDecoratedAfterGuards() && !asksAfterGuards(options)) return undefined
  guard.leaves = true
  return new RateLimitInterceptor(guard)
}

/** The tokens of limiters, for `@InjectRateLimiter`. */
function limiters(
  names: readonly string[],
): Required<Pick<DynamicModule, 'providers' | 'exports'>> {
  const providers = names.map((name) => ({
    provide: limiterToken(name),
    useFactory: (limits: RateLimits) => limits.get(name),
    inject: [LIMITS],
  }))
  return { providers, exports: providers.map(({ provide }) => provide) }
}

/**
 * Limits an application. Import it once, by `forRoot(options)`, or by
 * `forRootAsync({ imports, inject, useFactory | useClass | useExisting })` where the options depend
 * on other providers. `forFeature(...names)` makes `@InjectRateLimiter(name)` known in the module
 * that imports it, where `forRootAsync` named the policies.
 */
@Module({})
export class RateLimitModule {
  /** Before Nest adds the application's own filters, so that each of them goes before this one. */
  constructor(@Inject(ApplicationConfig) config: ApplicationConfig) {
    config.useGlobalFilters(new RateLimitFilter())
  }

  static forRoot<Req = NestRequest>(
    options: RateLimitModuleOptions<Req> & RateLimitModuleExtras,
  ): DynamicModule {
    const definition = Configured.forRoot(options as RateLimitModuleOptions)
    const named = limiters([
      ...(hasDefault(options) ? ['default'] : []),
      ...Object.keys(options.policies ?? {}),
    ])
    return {
      ...definition,
      module: RateLimitModule,
      providers: [...(definition.providers ?? []), ...named.providers],
      exports: [...(definition.exports ?? []), ...named.exports],
    }
  }

  static forRootAsync<Req = NestRequest>(options: AsyncOptions<Req>): DynamicModule {
    return {
      ...Configured.forRootAsync(options as AsyncOptions<NestRequest>),
      module: RateLimitModule,
    }
  }

  /** Makes `@InjectRateLimiter(name)` known in the module that imports it, where `forRootAsync`
   *  named the policies. */
  static forFeature(...names: string[]): DynamicModule {
    return { module: RateLimitFeature, ...limiters(names) }
  }
}

@Module({})
class RateLimitFeature {}
