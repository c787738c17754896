// A Nest application on Express and on Fastify shows the metrics of its limiters.

import 'reflect-metadata'
import { Controller, Get, Module, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { MetricsModule } from '@weir/metrics/nest'
import { fixedWindow, overload, RateLimit, RateLimitModule } from '@weir/nest'
import { expect, test } from 'vitest'

function decorated(): Type {
  class Reports {
    list(): string {
      return 'ok'
    }
  }
  const method = Object.getOwnPropertyDescriptor(Reports.prototype, 'list') as PropertyDescriptor
  Controller('reports')(Reports)
  Get()(Reports.prototype, 'list', method)
  RateLimit(fixedWindow({ name: 'few', limit: 1, window: '1h' }))(Reports.prototype, 'list', method)
  return Reports
}

test.each([
  ['Express', undefined, 'metrics', undefined],
  ['Fastify', new FastifyAdapter(), 'internal/metrics', 'internal/metrics'],
])('on %s, unlimited itself', async (_, adapter, at, path) => {
  class AppModule {}
  Module({
    imports: [
      RateLimitModule.forRoot({ limit: 2, window: '1h' }),
      MetricsModule.forRoot({ path, also: [overload()] }),
    ],
    controllers: [decorated()],
  })(AppModule)
  const options = { logger: false, abortOnError: false } as const
  const app = adapter
    ? await NestFactory.create(AppModule, adapter as never, options)
    : await NestFactory.create(AppModule, options)
  await app.listen(0, '127.0.0.1')
  try {
    const url = (await app.getUrl()).replace('[::1]', '127.0.0.1')
    for (const status of [200, 429, 429])
      expect((await fetch(`${url}/reports`)).status).toBe(status)
    for (let i = 0; i < 4; i += 1) expect((await fetch(`${url}/${at}`)).status).toBe(200)
    const headers = { accept: 'text/plain' }
    const response = await fetch(`${url}/${at}`, { headers })
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    const denied = 'limiter="Reports.list",policy="few",reason="limit",enforced="true"'
    expect(text).toContain(`weir_denials_total{${denied}} 2\n`)
    expect(text).toContain('weir_overload_in_flight 0\n')
    const scrapes = 'limiter="default",outcome="allowed",source="store",degraded="false"'
    expect(text).toContain(`weir_decisions_total{${scrapes}} 0\n`)
  } finally {
    await app.close()
  }
})
