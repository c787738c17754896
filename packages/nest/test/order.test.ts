// Before or after the guards that authenticate, in every layout that Nest applications have.

import {
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Module,
  type ModuleMetadata,
  Scope,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import {
  fixedWindow,
  type NestRequest,
  RateLimit,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '@weir/nest'
import { describe, expect, test } from 'vitest'
import { start } from './app.js'

const policy = fixedWindow({ limit: 3, window: '1h' })

@Injectable()
class JwtGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest()
    if (request.headers['x-token'] === 'forged') throw new UnauthorizedException()
    request.user = { id: request.headers['x-token'] }
    return true
  }
}

@Injectable({ scope: Scope.REQUEST })
class ScopedJwtGuard extends JwtGuard {}

const appGuard = { provide: APP_GUARD, useClass: JwtGuard }

@Controller()
class Plain {
  @Get() get() {}
}

@Controller()
class Guarded {
  @UseGuards(JwtGuard) @Get() get() {}
}

function inModule(metadata: ModuleMetadata): new () => object {
  class Some {}
  Module(metadata)(Some)
  return Some
}

type Layout = (limits: DynamicModule) => ModuleMetadata & {
  prepare?: (app: INestApplication) => void
}

const layouts: Record<string, Layout> = {
  'APP_GUARD in AppModule, as in the docs of Nest': (limits) => ({
    imports: [limits],
    providers: [appGuard],
    controllers: [Plain],
  }),
  'APP_GUARD in a module that is imported before': (limits) => ({
    imports: [inModule({ providers: [appGuard] }), limits],
    controllers: [Plain],
  }),
  'APP_GUARD in a module that is imported after': (limits) => ({
    imports: [limits, inModule({ providers: [appGuard] })],
    controllers: [Plain],
  }),
  'RateLimitModule deep below, APP_GUARD above': (limits) => ({
    imports: [inModule({ imports: [inModule({ imports: [limits] })] })],
    providers: [appGuard],
    controllers: [Plain],
  }),
  'APP_GUARD by useExisting': (limits) => ({
    imports: [limits],
    providers: [JwtGuard, { provide: APP_GUARD, useExisting: JwtGuard }],
    controllers: [Plain],
  }),
  'APP_GUARD that is made anew for each request': (limits) => ({
    imports: [limits],
    providers: [{ provide: APP_GUARD, useClass: ScopedJwtGuard }],
    controllers: [Plain],
  }),
  'app.useGlobalGuards': (limits) => ({
    imports: [limits],
    controllers: [Plain],
    prepare: (app) => void app.useGlobalGuards(new JwtGuard()),
  }),
  'UseGuards at the handler': (limits) => ({ imports: [limits], controllers: [Guarded] }),
}

describe.each(Object.entries(layouts))('%s', (_, layout) => {
  async function asking(options: RateLimitModuleOptions) {
    // Their options are known later than those of `forRoot`.
    const limits = RateLimitModule.forRootAsync({ useFactory: async () => options })
    const { prepare, ...metadata } = layout(limits)
    const app = await start(metadata, prepare ? { prepare } : {})
    return async (...tokens: string[]) => {
      const statuses: number[] = []
      for (const token of tokens) statuses.push((await app.get('/', { 'x-token': token })).status)
      return statuses
    }
  }

  test('six forged tokens are counted', async () => {
    const ask = await asking({ policy })
    const forged = Array.from({ length: 6 }, () => 'forged')
    expect(await ask(...forged)).toEqual([401, 401, 401, 429, 429, 429])
  })

  test("order: 'afterGuards': the key has the user, and requests that guards refuse are not counted", async () => {
    const key = (req: NestRequest) => req.user.id
    const ask = await asking({ policy, key, order: 'afterGuards' })
    const forged = Array.from({ length: 6 }, () => 'forged')
    expect(await ask(...forged, 'u1', 'u1', 'u1', 'u1', 'u2')).toEqual([
      ...forged.map(() => 401),
      ...[200, 200, 200, 429, 200],
    ])
  })
})

test('by address first and by user afterwards, as one list of defaults: forged tokens and users are each limited by their own policy', async () => {
  const limits = RateLimitModule.forRoot({
    policies: {
      address: { limit: 8, window: '1h' },
      user: { limit: 2, window: '1h', key: (req) => req.user.id, order: 'afterGuards' },
    },
    defaults: ['address', 'user'],
  })
  const app = await start({ imports: [limits], providers: [appGuard], controllers: [Plain] })
  const statuses: number[] = []
  for (const token of ['ann', 'ann', 'ann', 'bob', 'forged', 'forged', 'forged', 'forged', 'bob'])
    statuses.push((await app.get('/', { 'x-token': token })).status)
  expect(statuses).toEqual([200, 200, 429, 200, 401, 401, 401, 401, 429])
})

describe('a key that a guard provides is never computed without it', () => {
  const late = RateLimit({ policy, key: (req) => req.user.id, order: 'afterGuards' })
  @Controller()
  class Before {
    @late @UseGuards(RateLimitGuard, JwtGuard) @Get() get() {}
  }
  @Controller()
  class ByInterceptor {
    @late @UseInterceptors(RateLimitInterceptor) @UseGuards(JwtGuard) @Get() get() {}
  }
  @Injectable()
  class Own extends RateLimitGuard {}

  test.for<[string, ModuleMetadata, boolean]>([
    ['a guard placed before the one that authenticates', { controllers: [Before] }, true],
    ['an interceptor', { controllers: [ByInterceptor] }, true],
    ['an interceptor, without a global guard', { controllers: [ByInterceptor] }, false],
    [
      'a guard of your own as APP_GUARD',
      { controllers: [Guarded], providers: [{ provide: APP_GUARD, useClass: Own }] },
      false,
    ],
  ])('%s', async ([, metadata, global]) => {
    const limits = RateLimitModule.forRoot({
      global,
      policy,
      key: (req) => req.user.id,
      order: 'afterGuards',
    })
    const app = await start({ imports: [limits], ...metadata })
    const statuses: number[] = []
    for (const token of ['forged', 'u1', 'u1', 'u1', 'u1', 'u2'])
      statuses.push((await app.get('/', { 'x-token': token })).status)
    expect(statuses).toEqual([401, 200, 200, 200, 429, 200])
  })
})
