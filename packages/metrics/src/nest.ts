// Metrics of a Nest application: all limiters of its RateLimitModule, on one path.

import {
  Controller,
  type ControllerOptions,
  type DynamicModule,
  Get,
  Headers,
  Inject,
  Module,
  Res,
} from '@nestjs/common'
import { type PrometheusMetrics, prometheus, type Watched } from './prometheus.js'

/** Options of `MetricsModule.forRoot`. */
export interface MetricsModuleOptions {
  /** The path that Prometheus scrapes, after the application's prefix. Default `'metrics'`. */
  readonly path?: string | undefined
  /** The version of the route, such as `VERSION_NEUTRAL` of `@nestjs/common`. Default: the
   *  application's. */
  readonly version?: ControllerOptions['version'] | undefined
  /** Decorators of the route's controller, such as a `Public()` that guards look for. */
  readonly decorators?: readonly ClassDecorator[] | undefined
  /** The imported value of a `RateLimitModule` with `global: false`. */
  readonly imports?: DynamicModule['imports'] | undefined
  /** What to show besides the limiters: overload protection, live policies, limiters of your
   *  own. */
  readonly also?: readonly Watched[] | undefined
}

/** What `RateLimitModule` of @weir/nest provides globally: all its limiters. */
const LIMITS: unique symbol = Symbol.for('@weir/nest:limits')
/** Its metadata for what is not limited: a scrape must not be refused. */
const SKIPPED: unique symbol = Symbol.for('@weir/nest:skipped')
/**
 * Injects the `PrometheusMetrics` of `MetricsModule`, in modules that import it.
 * @example constructor(@Inject(METRICS) metrics: PrometheusMetrics) { metrics.register(registry) }
 */
export const METRICS: unique symbol = Symbol.for('@weir/metrics:prometheus')

interface Limits {
  all(): Iterable<Watched>
}

/** A response of Express or of Fastify. */
interface Response {
  header(name: string, value: string): unknown
  send(body: string): unknown
}

/**
 * Shows the metrics of all limiters of an application's `RateLimitModule` to Prometheus. No limit
 * applies to its route.
 * @example imports: [RateLimitModule.forRoot({ limit: 9, window: '1m' }), MetricsModule.forRoot()]
 */
// biome-ignore lint/complexity/noStaticOnlyClass: modules of Nest are classes
export class MetricsModule {
  /** @throws {TypeError} WEIR_INVALID_OPTION */
  static forRoot(options: MetricsModuleOptions = {}): DynamicModule {
    const { path = 'metrics', version, also = [], decorators = [], imports = [] } = options
    // Throws now if something is wrong with it, rather than counting a failure at each scrape.
    prometheus(also)
    const provider = {
      provide: METRICS,
      // A function, so that limiters made later are shown as well.
      useFactory: (limits: Limits) => prometheus(() => [...limits.all(), ...also]),
      inject: [LIMITS],
    }
    return {
      module: MetricsModule,
      imports,
      controllers: [controllerAt(version === undefined ? { path } : { path, version }, decorators)],
      providers: [provider],
      exports: [METRICS],
    }
  }
}
Module({})(MetricsModule)

/** Makes a new class for each module, because the path is the class's metadata. */
function controllerAt(
  at: ControllerOptions,
  decorators: readonly ClassDecorator[],
): new (
  metrics: PrometheusMetrics,
) => object {
  class MetricsController {
    readonly metrics: PrometheusMetrics

    constructor(metrics: PrometheusMetrics) {
      this.metrics = metrics
    }

    async scrape(accept: string | undefined, response: Response): Promise<void> {
      const { contentType, body } = await this.metrics.scrape(accept)
      response.header('Content-Type', contentType)
      response.header('Cache-Control', 'no-store')
      // Sent, not returned, because an interceptor might wrap what is returned.
      response.send(body)
    }
  }
  const { prototype } = MetricsController
  const method = Object.getOwnPropertyDescriptor(prototype, 'scrape') as PropertyDescriptor
  Controller(at)(MetricsController)
  Inject(METRICS)(MetricsController, undefined, 0)
  Get()(prototype, 'scrape', method)
  Headers('accept')(prototype, 'scrape', 0)
  Res()(prototype, 'scrape', 1)
  Reflect.defineMetadata(SKIPPED, [], MetricsController)
  for (const decorate of decorators) decorate(MetricsController)
  return MetricsController
}
