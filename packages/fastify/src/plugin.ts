// The plugin: limits the routes of an app, whose `config.rateLimit` may say otherwise.

import { memoryStore, type RateLimiter } from '@weir/core'
import { type Allowance, limiterName, type RequestDecision } from '@weir/core/http'
import { invalid, quote, typeError } from '@weir/core/internal'
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyRequest,
} from 'fastify'
import { type Hook, hookOf } from './hooks.js'
import {
  type RateLimitHook,
  type RateLimitOptions,
  type RateLimitSettings,
  rateLimit,
} from './rate-limit.js'

const HOOKS = ['onRequest', 'preValidation', 'preHandler'] as const

/** What differs from the plugin's options. Routes whose limits have one `name` count together. */
export type RouteRateLimit = RateLimitSettings & Partial<Allowance<FastifyRequest>>

/** Options of `rateLimitPlugin`. With `global: false`, it limits only routes that have a
 *  `config.rateLimit`. */
export type RateLimitPluginOptions = RateLimitSettings & {
  /** When it runs. Default `'onRequest'`; as `'preHandler'`, it sees the user and the body. The
   *  last two run after all such hooks of routes that are declared once the plugin is loaded. */
  readonly hook?: (typeof HOOKS)[number] | undefined
} & (
    | ({ readonly global?: true | undefined } & Allowance<FastifyRequest>)
    | ({ readonly global: false } & Partial<Allowance<FastifyRequest>>)
  )

interface Config extends FastifyContextConfig {
  readonly method?: unknown
  readonly url?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The binding decision of this request's limiters; `all` has the decision of each. */
    rateLimit?: RequestDecision
  }
  interface FastifyContextConfig {
    /** The route's own limit, a limiter, or false: no limit. */
    rateLimit?: RouteRateLimit | RateLimitHook | false
  }
  interface FastifyInstance {
    /** Makes a limiter with the plugin's settings, on its store. */
    rateLimit: ((options: RouteRateLimit) => RateLimitHook) & {
      /** The plugin's own; undefined with `global: false`. */
      readonly limiter: RateLimiter | undefined
    }
  }
}

/**
 * Limits the routes of the app that registers it, also those that were declared before, and
 * requests that have no route.
 * @example app.register(rateLimitPlugin, { limit: 100, window: '1m' })
 */
export const rateLimitPlugin: FastifyPluginAsync<RateLimitPluginOptions> = Object.assign(plugin, {
  // As fastify-plugin does, so that it limits the app, and not only itself.
  [Symbol.for('skip-override')]: true,
  [Symbol.for('plugin-meta')]: { name: '@weir/fastify', fastify: '4.x || 5.x' },
})

/** Asynchronous, so that wrong options reject `ready()`: Fastify catches nothing that others
 *  throw. */
async function plugin(
  app: FastifyInstance,
  { hook = 'onRequest', global = true, ...all }: RateLimitPluginOptions,
): Promise<void> {
  if (!HOOKS.includes(hook))
    throw invalid('WEIR_INVALID_OPTION', 'hook', hook, `one of ${HOOKS.join(', ')}`)
  if (Object.hasOwn(app, 'rateLimit') && !('limiter' in app.rateLimit)) {
    const right = "give it a context of its own, or app.addHook('onRequest', rateLimit({...}))"
    throw typeError('WEIR_INVALID_OPTION', `app.rateLimit is already there; ${right}`)
  }
  // What `register` itself takes.
  for (const own of ['prefix', 'logLevel', 'logSerializers']) Reflect.deleteProperty(all, own)
  const store = all.store ?? memoryStore()
  const { name, policy, limit, window, ...settings } = { ...all, store }
  const every = global ? rateLimit({ ...all, store } as RateLimitOptions) : undefined

  function make(own: RouteRateLimit): RateLimitHook {
    const isPlain = own.limit !== undefined || own.window !== undefined
    const allowed = own.policy ? {} : isPlain ? { limit, window } : { policy, limit, window }
    return rateLimit({ ...settings, ...allowed, ...own } as RateLimitOptions)
  }
  const maker = Object.assign(make, { limiter: every?.limiter })

  /** What limits a route, which is made of its options once. */
  function limiterOf(config: Config): Config['rateLimit'] {
    const { rateLimit: own, method, url = '' } = config
    if (own === false || (typeof own === 'function' && 'limiter' in own)) return own
    if (typeof own !== 'object' || own === null) {
      const right = 'options, a limiter or false'
      throw invalid('WEIR_INVALID_OPTION', `config.rateLimit of ${quote(url)}`, own, right)
    }
    const path = url.replaceAll(/[._]/g, '_$&').replaceAll('/', '.')
    const route = `${method}`.replace('HEAD', 'GET') + path
    config.rateLimit = make({ name: limiterName(route), shared: true, ...own })
    return config.rateLimit
  }

  /** In the config of routes that have the limiter as their last hook. */
  const LAST = Symbol('weir.last')

  function limitedAs(isLast: boolean): Hook {
    return hookOf((request, reply, next) => {
      const config = configOf(request)
      if (!isLast && LAST in config) return next()
      const isOwn = config.rateLimit === undefined || request.server.rateLimit !== maker
      const limiter = config.rateLimit !== false && (isOwn ? every : limiterOf(config))
      if (limiter) (limiter as RateLimitHook)(request, reply, next)
      else next()
    })
  }
  const last = limitedAs(true)

  // Of several plugins around a route, the innermost one limits it by the route's options. Routes
  // that were declared before the plugin was loaded get their limiters with their first request.
  app.addHook('onRoute', function (route) {
    const { config, method, url } = route
    if (config?.rateLimit !== undefined && this.rateLimit === maker) {
      const own = limiterOf({ ...config, method, url }) as RateLimitHook
      route.config = { ...config, rateLimit: own }
    }
    if (hook === 'onRequest') return
    // Hooks of the route may authenticate.
    const hooks = [route[hook] ?? []].flat()
    if (!hooks.includes(last)) route[hook] = [...hooks, last]
    route.config = { ...route.config, [LAST]: true } as FastifyContextConfig
  })
  app.addHook(hook, limitedAs(false))
  if (!Object.hasOwn(app, 'rateLimit')) app.decorate('rateLimit', maker)
  if (!app.hasRequestDecorator('rateLimit')) app.decorateRequest('rateLimit')
}

/** Fastify before 4.22 has `routeConfig`, and before 4.10 only `context`. */
type Early = { readonly routeConfig?: Config; readonly context?: { readonly config: Config } }

function configOf(request: FastifyRequest & Early): Config {
  return request.routeOptions?.config ?? request.routeConfig ?? request.context?.config ?? {}
}
