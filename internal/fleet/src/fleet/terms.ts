// What a scenario says of its stories: which options they have, and what holds in them.

import type { Bound } from '../promises/story.js'
import type { StoryOptions } from './choices.js'

/** What holds in a story. */
export interface Terms {
  /** The fewest processes. */
  readonly least: number
  /** The processes count in a Cluster. */
  readonly isOnCluster?: true
  /** In place of what the seed says: such as plain requests, where its bound is for those. */
  readonly options?: Partial<StoryOptions>
  readonly bound: Bound
  /** Afterwards Redis counts everything that was admitted. Otherwise it may count less, within the
   *  bound. */
  readonly countsAll: boolean
  /** Redis may be away, so that calls fail which only Redis can answer. */
  readonly isAway: boolean
  /** And nothing else. Default: it may count what was not admitted. */
  readonly isExact?: boolean
}
