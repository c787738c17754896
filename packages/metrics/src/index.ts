// What limiters have counted, as metrics, for exporters other than this package's.

export { collector } from './collect.js'
export type {
  Limiters,
  Watched,
  WatchedLimiter,
  WatchedLive,
  WatchedOverload,
} from './limiters.js'
export type { Metric, Point } from './metric.js'
