import type { Time } from '../base/time.js'
import type { Settings } from '../settings.js'

/** The settings of one name, and the time in which they are followed and changed. */
export interface NamedSettings {
  readonly settings: Settings
  /** That of the `livePolicies`. */
  readonly name: string
  readonly time: Time
}

/** How long after a change it holds, for all processes to hear of it. */
export const LEAD_MS = 1_500
