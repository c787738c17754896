// Rows with several processes, each with all algorithms at once: those that no scenario of
// ../../stories tells in virtual time, and those that need real heartbeats. What Redis has lost
// when processes return one after another is in packages/core/test/redis/losses.test.ts.
import { tellElsewhere } from '../elsewhere.js'
import type { Row } from '../row.js'
import { partialViews } from '../stories/partial-views.js'
import { starts } from '../stories/starts.js'
import type { Story } from '../stories/story.js'

export const stories: readonly Story[] = [...partialViews, starts]

export const storyRows: readonly Row[] = stories.map((story) => {
  const { sizes, store, tell, ...row } = story
  return {
    ...row,
    ...(partialViews.includes(story) && { fullOnly: true }),
    run: (stage) => tellElsewhere(stage, row.number),
  }
})
