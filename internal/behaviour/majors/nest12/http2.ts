// In place of Express and Koa, for in-flight-http2.test.ts of internal/behaviour: Nest on Fastify
// over HTTP/2.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { All, Controller, Module, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { RateLimit, RateLimitModule } from '@weir/nest'
import { onTestFinished } from 'vitest'
import type { Http2Kind, Http2Setup } from '../../test/servers/http2.js'

async function nestOnFastify({ options, work }: Http2Setup): Promise<string> {
  @RateLimit(options as never)
  @Controller()
  class Everything {
    @All('*')
    async answer(@Req() { url }: { url: string }): Promise<string> {
      await work(url)
      return 'done'
    }
  }
  @Module({
    imports: [RateLimitModule.forRoot({ store: options.store })],
    controllers: [Everything],
  })
  class AppModule {}
  const adapter = new FastifyAdapter({ http2: true } as never)
  const app = await NestFactory.create(AppModule, adapter, { logger: false, abortOnError: false })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`
}

export const http2Servers: readonly Http2Kind[] = [['Nest on Fastify', nestOnFastify]]
