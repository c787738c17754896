// The public surface of @weir/dashboard.

export { type Dashboard, dashboard } from './dashboard.js'
export type { DashboardOptions } from './options.js'
export type { ActionNote } from './protocol.js'
export type { Authorize, Authorized } from './server/access.js'
export type { Next } from './server/node.js'
export type {
  Limiters,
  Shown,
  ShownLimiter,
  ShownLive,
  ShownOverload,
  ShownStore,
} from './watched.js'
