// The process that runs a story.
import type { ToTeller } from './elsewhere.js'
import { stories } from './rows/stories.js'
import { Stage } from './stage.js'
import { told } from './stories/story.js'

process.once('disconnect', () => process.exit(1))
process.once('message', ({ number, changes }: ToTeller) => void tell({ number, changes }))

async function tell({ number, changes }: ToTeller): Promise<void> {
  const story = stories.find((each) => each.number === number)
  if (story === undefined) throw new Error(`no story ${number}`)
  const stage = new Stage(changes)
  const checks = await told(story, stage).finally(() => stage.end())
  process.removeAllListeners('disconnect')
  process.send?.({ checks, stalls: stage.stalls }, () => process.disconnect())
}
