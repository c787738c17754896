import 'reflect-metadata'
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis'
import { Controller, type DynamicModule, Get, Module, type Provider } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { RateLimitModule, recommendedRedisOptions, redisStore } from '@weir/nest'
import { connected } from '../redis/client.js'
import { CLIENT_HEADER, type Limit } from './job.js'

@Controller()
class OkController {
  @Get()
  ok(): string {
    return 'ok'
  }
}

@Module({})
class AppModule {}

export async function startNest(limit: Limit): Promise<number> {
  const { imports, providers } = await limiterOf(limit)
  const module: DynamicModule = {
    module: AppModule,
    imports,
    providers,
    controllers: [OkController],
  }
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), {
    logger: false,
  })
  await app.listen(0, '127.0.0.1')
  return Number(new URL(await app.getUrl()).port)
}

interface Parts {
  readonly imports: DynamicModule[]
  readonly providers: Provider[]
}

async function limiterOf({ limiter, redisPort, limit, windowMs, name }: Limit): Promise<Parts> {
  if (limiter === 'none') return { imports: [], providers: [] }
  const clientOf = (req: Record<string, unknown>): string => {
    return (req.headers as Record<string, string>)[CLIENT_HEADER] as string
  }
  const client =
    redisPort === undefined
      ? undefined
      : await connected(redisPort, limiter === 'Weir' ? recommendedRedisOptions : {})
  if (limiter === 'Weir') {
    const module = RateLimitModule.forRoot({
      ...{ name, limit, window: windowMs, key: clientOf },
      ...(client && { store: redisStore(client) }),
    })
    return { imports: [module], providers: [] }
  }
  const module = ThrottlerModule.forRoot({
    throttlers: [{ name, ttl: windowMs, limit }],
    getTracker: async (req) => clientOf(req),
    ...(client && { storage: new ThrottlerStorageRedisService(client) }),
  })
  return { imports: [module], providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }] }
}
