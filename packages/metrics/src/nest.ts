// Metrics of a Nest application: all limiters of its RateLimitModule, under one path.

import { Controller, type DynamicModule, Get, Headers, Inject, Module, Res } from '@nestjs/common'
import { type PrometheusMetrics, prometheus, type Watched } from './prometheus.js'

/** Options of `MetricsModule.forRoot`. */
export interface MetricsModuleOptions {
  /** Where Prometheus scrapes. Default `'metrics'`. */
  readonly path?: string | undefined
  /** What to show beside the limiters: overload protection, live policies, limiters of your own.
   *  Default: nothing. */
  readonly also?: readonly Watched[] | undefined
}

/** What `RateLimitModule` of @weir/nest provides globally: all its limiters. */
const LIMITS: unique symbol = Symbol.for('@weir/nest:limits')
/** Its metadata of what is not limited: a scrape must not be refused. */
const SKIPPED: unique symbol = Symbol.for('@weir/nest:skipped')
/** Injects the metrics, to register them elsewhere. */
export const METRICS: unique symbol = Symbol.for('@weir/metrics:prometheus')

interface Limits {
  all(): Iterable<Watched>
}

/** Of Express and of Fastify. */
interface HeaderSetter {
  header(name: string, value: string): unknown
}

/**
 * Shows the metrics of all limiters of an application's `RateLimitModule` to Prometheus. No limit
 * holds for its route.
 * @example imports: [RateLimitModule.forRoot({ limit: 9, window: '1m' }), MetricsModule.forRoot()]
 */
// biome-ignore lint/complexity/noStaticOnlyClass: modules of Nest are classes
export class MetricsModule {
  /** @throws {TypeError} WEIR_INVALID_OPTION */
  static forRoot({ path = 'metrics', also = [] }: MetricsModuleOptions = {}): DynamicModule {
    // What is wrong with it is said now, and not counted at each scrape.
    prometheus(also)
    const provider = {
      provide: METRICS,
      // Also those that are made later.
      useFactory: (limits: Limits) => prometheus(() => [...limits.all(), ...also]),
      inject: [LIMITS],
    }
    return {
      module: MetricsModule,
      controllers: [controllerAt(path)],
      providers: [provider],
      exports: [METRICS],
    }
  }
}
Module({})(MetricsModule)

/** A class of its own, as its path is its metadata. */
function controllerAt(path: string): new (metrics: PrometheusMetrics) => object {
  class MetricsController {
    readonly metrics: PrometheusMetrics

    constructor(metrics: PrometheusMetrics) {
      this.metrics = metrics
    }

    async scrape(accept: string | undefined, response: HeaderSetter): Promise<string> {
      const { contentType, body } = await this.metrics.scrape(accept)
      response.header('Content-Type', contentType)
      response.header('Cache-Control', 'no-store')
      return body
    }
  }
  const { prototype } = MetricsController
  const method = Object.getOwnPropertyDescriptor(prototype, 'scrape') as PropertyDescriptor
  Controller(path)(MetricsController)
  Inject(METRICS)(MetricsController, undefined, 0)
  Get()(prototype, 'scrape', method)
  Headers('accept')(prototype, 'scrape', 0)
  Res({ passthrough: true })(prototype, 'scrape', 1)
  Reflect.defineMetadata(SKIPPED, [], MetricsController)
  return MetricsController
}
