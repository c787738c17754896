// Metrics for Prometheus: on a text endpoint of our own, or in the registry of a client library
// that the application already has.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { collecting } from './collect.js'
import type { Limiters } from './limiters.js'
import type { Metric } from './metric.js'
import { type Registry, registered } from './registry.js'
import { inTurns, type Work } from './slices.js'
import { OPEN_METRICS, TEXT, textOf, wantsOpenMetrics } from './text.js'

export type {
  Limiters,
  Watched,
  WatchedLimiter,
  WatchedLive,
  WatchedOverload,
} from './limiters.js'
export type { Registry } from './registry.js'

/** The answer to a scrape. */
export interface Scrape {
  /** For the header `Content-Type`. */
  readonly contentType: string
  /** The metrics as text. */
  readonly body: string
}

/** The metrics of limiters, for Prometheus. */
export interface PrometheusMetrics {
  /**
   * Answers a scrape of Express or `node:http`, with 500 if that fails.
   *
   * @example app.get('/metrics', metrics.handler)
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * The metrics as text; in the OpenMetrics format if `accept`, a request's header, prefers it.
   * About 500 series are written in each turn of the event loop.
   *
   * @example const { contentType, body } = await metrics.scrape(ctx.get('accept'))
   */
  scrape(accept?: string): Promise<Scrape>
  /**
   * Puts the metrics into the registry of `prom-client` 15 or `@prometheus-io/client`, in place of
   * earlier ones of this package, until the function that it returns is called. Throws what the
   * registry throws.
   *
   * @example metrics.register(promClient.register)
   */
  register(registry: Registry): () => void
}

/**
 * The metrics of limiters, or of what a function returns, and of their stores, for Prometheus, read
 * on demand.
 *
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example
 * const metrics = prometheus([rateLimit({ limit: 100, window: '1m' })])
 * app.get('/metrics', metrics.handler)
 */
export function prometheus(limiters: Limiters): PrometheusMetrics {
  const collect = collecting(limiters)

  async function scrape(accept?: string): Promise<Scrape> {
    const isOpen = wantsOpenMetrics(accept)
    const body = await inTurns(textOf(await inTurns(collect()), isOpen))
    return { contentType: isOpen ? OPEN_METRICS : TEXT, body }
  }

  async function answer(accept: string | undefined, response: ServerResponse): Promise<void> {
    try {
      const { contentType, body } = await scrape(accept)
      response.statusCode = 200
      response.setHeader('Content-Type', contentType)
      response.setHeader('Cache-Control', 'no-store')
      response.setHeader('Vary', 'Accept')
      response.end(body)
    } catch {
      // Nobody else would handle this: a rejection would end the process.
      if (!response.headersSent) response.statusCode = 500
      response.end()
    }
  }

  return {
    scrape,
    handler: (request, response) => void answer(request.headers.accept, response),
    register: (registry) => registered(registry, ofOneScrape(collect)),
  }
}

/** A registry asks metric by metric, all in one turn of the event loop: that makes one scrape. */
function ofOneScrape(collect: () => Work<readonly Metric[]>): () => Promise<readonly Metric[]> {
  let read: Promise<readonly Metric[]> | undefined
  return () => {
    if (read === undefined) {
      read = inTurns(collect())
      setImmediate(() => {
        read = undefined
      })
    }
    return read
  }
}
