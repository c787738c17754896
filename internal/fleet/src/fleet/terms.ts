// What a scenario says about its stories: which options they have, and what holds in them.

import type { Bound } from '../promises/story.js'
import type { StoryOptions } from './choices.js'

/** What holds in a story. */
export interface Terms {
  /** The minimum number of processes. */
  readonly least: number
  /** The store is a Cluster. */
  readonly isOnCluster?: true
  /** Some processes start while the story runs: `newcomers`. */
  readonly hasNewcomers?: true
  /** Options that replace those of the seed; for example plain requests, if the bound is for
   *  those. */
  readonly options?: Partial<StoryOptions>
  readonly bound: Bound
  /** In the end Redis counts everything that was admitted. Otherwise it may count less, within the
   *  bound. */
  readonly countsAll: boolean
  /** Redis may be away, so calls that only Redis can answer fail. */
  readonly isAway: boolean
  /** Redis loses nothing, and no process takes anything for lost. */
  readonly losesNothing?: true
  /** Redis counts nothing else. By default it may count units that were not admitted. */
  readonly isExact?: boolean
}
