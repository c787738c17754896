// A Nest application serves the metrics of its limiters.

import 'reflect-metadata'
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  SetMetadata,
  type Type,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common'
import { APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core'
import { METRICS, MetricsModule } from '@weir/metrics/nest'
import type { PrometheusMetrics } from '@weir/metrics/prometheus'
import { fixedWindow, overload, RateLimit, RateLimitModule } from '@weir/nest'
import { map } from 'rxjs'
import { expect, onTestFinished, test } from 'vitest'
import { platform } from './servers/platform.js'

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

type Options = Parameters<typeof MetricsModule.forRoot>[0]

/** An application whose guard refuses all but public routes, and whose interceptor wraps
 *  answers. */
async function strict(options: Options, limits = RateLimitModule.forRoot({})) {
  class Guard {
    canActivate(context: ExecutionContext): boolean {
      return Reflect.getMetadata('isPublic', context.getClass()) === true
    }
  }
  class Wrap {
    intercept(_: ExecutionContext, next: CallHandler) {
      return next.handle().pipe(map((data) => ({ data })))
    }
  }
  class AppModule {}
  Module({
    imports: [limits, MetricsModule.forRoot(options)],
    providers: [
      { provide: APP_GUARD, useClass: Guard },
      { provide: APP_INTERCEPTOR, useClass: Wrap },
    ],
  })(AppModule)
  const app = await NestFactory.create(AppModule, platform.adapter(), {
    logger: false,
    abortOnError: false,
  })
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' })
  app.setGlobalPrefix('api', { exclude: ['internal'] })
  await app.listen(0, '127.0.0.1')
  onTestFinished(() => app.close())
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1')
  return async (path: string) => {
    const response = await fetch(url + path)
    return { status: response.status, text: await response.text() }
  }
}

const version = VERSION_NEUTRAL as never
const decorators = [SetMetadata('isPublic', true)]

test("the route is behind the application's guards, unless a decorator says otherwise", async () => {
  expect((await (await strict({ version }))('/api/metrics')).status).toBe(403)
  const ask = await strict({ decorators, version })
  expect((await ask('/api/metrics')).status).toBe(200)
})

test('no interceptor wraps it, and it has the prefix unless that excludes it, and the version that it is given', async () => {
  const ask = await strict({ decorators, version })
  const { text } = await ask('/api/metrics')
  expect(text).toMatch(/^# HELP weir_decisions_total /)
  expect((await ask('/api/v1/metrics')).status).toBe(404)
  expect((await (await strict({ decorators }))('/api/v1/metrics')).status).toBe(200)
  const excluded = await strict({ decorators, version, path: 'internal' })
  expect((await excluded('/internal')).text).toMatch(/^# HELP weir_decisions_total /)
})

test('limits of a module that is not global are shown where it is imported', async () => {
  const limits = RateLimitModule.forRoot({ global: false, limit: 2, window: '1h' })
  const ask = await strict({ decorators, version, imports: [limits] }, limits)
  expect((await ask('/api/metrics')).text).toContain('weir_limiter_enabled{limiter="default"} 1')
})

test('METRICS injects the metrics, so they can be put into a registry', async () => {
  class Service {
    readonly metrics: PrometheusMetrics
    constructor(metrics: PrometheusMetrics) {
      this.metrics = metrics
    }
  }
  Injectable()(Service)
  Inject(METRICS)(Service, undefined, 0)
  class AppModule {}
  Module({
    imports: [RateLimitModule.forRoot({ limit: 2, window: '1h' }), MetricsModule.forRoot()],
    providers: [Service],
  })(AppModule)
  const options = { logger: false, abortOnError: false } as const
  const app = await NestFactory.createApplicationContext(AppModule, options)
  const { body } = await app.get(Service).metrics.scrape()
  expect(body).toContain('weir_limiter_enabled{limiter="default"} 1')
  await app.close()
})

test.each([
  ['metrics', undefined],
  ['internal/metrics', 'internal/metrics'],
])('at /%s, where the metrics themselves are not limited', async (at, path) => {
  class AppModule {}
  Module({
    imports: [
      RateLimitModule.forRoot({ limit: 2, window: '1h' }),
      MetricsModule.forRoot({ path, also: [overload()] }),
    ],
    controllers: [decorated()],
  })(AppModule)
  const options = { logger: false, abortOnError: false } as const
  const app = await NestFactory.create(AppModule, platform.adapter(), options)
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
