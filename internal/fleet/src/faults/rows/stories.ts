// Rows with several processes, each with all algorithms at once.
import { tellElsewhere } from '../elsewhere.js'
import type { Row } from '../row.js'
import { failedCalls } from '../stories/failed-calls.js'
import { partialViews } from '../stories/partial-views.js'
import { returns } from '../stories/returns.js'
import { smallAndMany } from '../stories/small-and-many.js'
import { starts } from '../stories/starts.js'
import type { Story } from '../stories/story.js'

export const stories: readonly Story[] = [
  ...returns,
  ...failedCalls,
  ...partialViews,
  ...smallAndMany,
  starts,
]

/**
 * Different amounts seen before an empty return, older data, processes that start. They count and
 * judge little time, so that for each change the scenarios of internal/fleet tell the others, in
 * virtual time.
 */
const IN_SHORT = ['41', '42', '43']

export const storyRows: readonly Row[] = stories.map((story) => {
  const { sizes, limit, store, whenUnavailable, tell, ...row } = story
  const isShort = IN_SHORT.includes(row.number)
  return {
    ...row,
    ...(!isShort && { fullOnly: true }),
    run: (stage) => tellElsewhere(stage, row.number),
  }
})
