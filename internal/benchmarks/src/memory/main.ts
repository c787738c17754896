// A process that lets one subject do one exercise, and reports its figures.

import type { Scale } from '../scenario.js'
import { exercises } from './exercises.js'
import type { Exercise } from './subject.js'
import { subjects } from './subjects.js'

export interface Job {
  readonly subject: string
  readonly exercise: Exercise
  readonly scale: Scale
}

const { subject, exercise, scale } = JSON.parse(process.argv[2] as string) as Job
const kind = subjects.find(({ name }) => name === subject)
if (kind === undefined) throw new Error(`there is no subject ${subject}`)
process.send?.(await exercises[exercise](kind, scale))
process.exit(0)
