// `@weir/core/live`: limits that change while processes run.

export {
  type LimitsFrom,
  type LimitsFromOptions,
  type LimitsFromStatus,
  limitsFrom,
} from '../live/limits-from.js'
export { livePolicies } from '../live/live-policies.js'
export type { Override } from '../live/overrides.js'
export type * from '../live/types.js'
