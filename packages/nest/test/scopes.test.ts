// Limits are made once, at the start; if they cannot be, the application does not start.

import {
  Controller,
  type DynamicModule,
  Get,
  Inject,
  Injectable,
  Module,
  Scope,
} from '@nestjs/common'
import { REQUEST } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import {
  fixedWindow,
  RATE_LIMIT_OPTIONS,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitOptionsFactory,
  RateLimits,
} from '@weir/nest'
import { describe, expect, test } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ limit: 1, window: '1h' })

@Controller()
class Plain {
  @Get() get() {}
}

@Injectable({ scope: Scope.REQUEST })
class Tenant {}
@Injectable({ scope: Scope.REQUEST, durable: true })
class DurableTenant {}
@Injectable()
class Plans {
  constructor(@Inject(Tenant) readonly tenant: Tenant) {}
}
@Injectable()
class DeepPlans {
  @Inject(Plans) readonly plans!: Plans
}
@Injectable({ scope: Scope.TRANSIENT })
class Transient {}
@Injectable({ scope: Scope.TRANSIENT })
class TransientOfTenant {
  constructor(@Inject(Tenant) readonly tenant: Tenant) {}
}
@Injectable({ scope: Scope.REQUEST })
class ScopedOptions implements RateLimitOptionsFactory {
  createRateLimitOptions() {
    return { policy: once }
  }
}
@Injectable()
class OptionsOfTenant extends ScopedOptions {
  constructor(@Inject(Tenant) readonly tenant: Tenant) {
    super()
  }
}

const MADE_HERE = { provide: 'CONNECTION', useFactory: () => 1, scope: Scope.REQUEST }
const providers = [
  Tenant,
  DurableTenant,
  Plans,
  DeepPlans,
  Transient,
  TransientOfTenant,
  ScopedOptions,
  OptionsOfTenant,
  MADE_HERE,
]
@Module({ providers, exports: providers })
class TenantModule {}

const injecting = (...inject: never[]): DynamicModule =>
  RateLimitModule.forRootAsync({
    imports: [TenantModule],
    inject,
    useFactory: () => ({ policy: once }),
  })

const refused = (what: RegExp) => ({
  code: 'WEIR_NOT_ENFORCED',
  message: expect.stringMatching(what),
})

describe('options that depend on a request-scoped provider keep the application from starting', () => {
  test.for<[string, DynamicModule, RegExp]>([
    ['directly', injecting(Tenant as never), /depend on Tenant, which is request-scoped;/],
    ['on a durable one', injecting(DurableTenant as never), /on DurableTenant, which/],
    ['on the request', injecting(REQUEST as never), /on REQUEST, which/],
    ['on a factory', injecting('CONNECTION' as never), /on CONNECTION, which/],
    ['beside others', injecting(Transient as never, Tenant as never), /on Tenant, which/],
    ['through another', injecting(Plans as never), /on Tenant, which is request-scoped \(Plans\);/],
    ['through two', injecting(DeepPlans as never), /on Tenant, .* \(DeepPlans -> Plans\);/],
    ['through a transient one', injecting(TransientOfTenant as never), /\(TransientOfTenant\)/],
    [
      'useExisting',
      RateLimitModule.forRootAsync({ imports: [TenantModule], useExisting: ScopedOptions }),
      /on ScopedOptions, which/,
    ],
    ['useClass', RateLimitModule.forRootAsync({ useClass: ScopedOptions }), /on ScopedOptions/],
    [
      'useClass, through it',
      RateLimitModule.forRootAsync({ imports: [TenantModule], useClass: OptionsOfTenant }),
      /on Tenant, which is request-scoped \(OptionsOfTenant\);/,
    ],
    [
      'without a global guard',
      RateLimitModule.forRootAsync({
        imports: [TenantModule],
        inject: [Tenant],
        useFactory: () => ({ policy: once }),
        guard: false,
      }),
      /on Tenant, which/,
    ],
  ])('%s', async ([, module, message]) => {
    await expect(start({ imports: [module], controllers: [Plain] })).rejects.toMatchObject(
      refused(message),
    )
  })
})

test('options that depend on a transient provider limit', async () => {
  const app = await start({ imports: [injecting(Transient as never)], controllers: [Plain] })
  expect(await app.statuses('/', '/')).toEqual([200, 429])
})

test('a test may replace options that depend on a request', async () => {
  const testing = await Test.createTestingModule({
    imports: [injecting(Tenant as never)],
    controllers: [Plain],
  })
    .overrideProvider(RATE_LIMIT_OPTIONS)
    .useValue({ policy: once })
    .compile()
  await testing.init()
  expect(testing.get(RateLimits).get('default').name).toBe('default')
  await testing.close()
})

test('a test that replaces options by some that depend on the request is limited, or refused', async () => {
  const testing = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ policy: once })],
    controllers: [Plain],
  })
    .overrideProvider(RATE_LIMIT_OPTIONS)
    .useFactory({ factory: () => ({ policy: once }), inject: [REQUEST] })
    .compile()
  const app = testing.createNestApplication({ logger: false })
  // Nest 10 and 11 give the factory no request, and call it once.
  try {
    await app.listen(0, '127.0.0.1')
    const url = (await app.getUrl()).replace('[::1]', '127.0.0.1')
    for (const status of [200, 429]) expect((await fetch(url)).status).toBe(status)
  } catch (error) {
    expect(error).toMatchObject(refused(/on REQUEST/))
  } finally {
    await app.close()
  }
})

test('request-scoped RateLimits keep the application from starting', async () => {
  const testing = await Test.createTestingModule({
    imports: [RateLimitModule.forRoot({ policy: once })],
  })
    .overrideProvider(RateLimits)
    .useFactory({ factory: () => ({ of: () => [] }), inject: [REQUEST] })
    .compile()
  await expect(testing.init()).rejects.toMatchObject(refused(/RateLimits depends on REQUEST/))
})

test('a request-scoped guard is named, and so is the provider that makes it so', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class Scoped extends RateLimitGuard {}
  @Injectable()
  class OfTenant extends RateLimitGuard {
    @Inject(Plans) readonly plans!: Plans
  }
  const imports = (guard: typeof RateLimitGuard) => {
    const limits = RateLimitModule.forRoot({ policy: once, guard })
    return [{ ...limits, imports: [TenantModule] }]
  }
  await expect(start({ imports: imports(Scoped) })).rejects.toMatchObject(
    refused(/the guard that forRoot was given is, or needs, Scoped, which is request-scoped/),
  )
  await expect(start({ imports: imports(OfTenant) })).rejects.toMatchObject(
    refused(/needs, Tenant, which is request-scoped \(OfTenant -> Plans\)/),
  )
})
