export { otherServer, serverBinary } from './binary.js'
export { chromiumBinary } from './chromium.js'
export { beginMove, type ClusterOptions, type RedisCluster, startCluster } from './cluster.js'
export { type Nginx, startNginx } from './nginx.js'
export { freePort } from './ports.js'
export { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.js'
export {
  type Prometheus,
  type PrometheusOptions,
  promtool,
  type Sample,
  startPrometheus,
} from './prometheus.js'
export {
  type FaultyProxy,
  type ProxyMode,
  type ProxyOptions,
  type ProxyStats,
  startProxy,
} from './proxy.js'
export { type Connection, openConnection, type Reply } from './resp.js'
export { type RedisSentinel, type SentinelOptions, startSentinel } from './sentinel.js'
export { type RedisServer, type ServerOptions, startRedis } from './server.js'
export { busyBy, judged, type Stall, type StallWatch, watchStalls } from './stalls.js'
export { waitUntil } from './wait.js'
export { isShort, isWeekly, seedOf, stepsOf } from './weekly.js'
