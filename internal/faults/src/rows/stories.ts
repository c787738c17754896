// Rows with several processes, each with all algorithms at once.
import { tellElsewhere } from '../elsewhere.js'
import type { Row } from '../row.js'
import { failedCalls } from '../stories/failed-calls.js'
import { partialViews } from '../stories/partial-views.js'
import { returns } from '../stories/returns.js'
import { smallAndMany } from '../stories/small-and-many.js'
import type { Story } from '../stories/story.js'

export const stories: readonly Story[] = [
  ...returns,
  ...failedCalls,
  ...partialViews,
  ...smallAndMany,
]

export const storyRows: readonly Row[] = stories.map((story) => {
  const { sizes, limit, store, whenUnavailable, tell, ...row } = story
  return { ...row, run: (stage) => tellElsewhere(stage, row.number) }
})
