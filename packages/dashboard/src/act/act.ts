// Does what somebody asks for on the page, and notes who asked, when, for what, and how it ended.

import type { Collector } from '../collect/collector.js'
import type { ActionAnswer, ActionNote, Preview } from '../protocol.js'
import type { Time } from '../time.js'
import type { Notes } from './notes.js'
import { planned } from './planned.js'
import { invalidRequest, plain, problemOf } from './problem.js'

export interface Acting {
  readonly collector: Collector
  readonly notes: Notes
  readonly time: Time
}

/** @throws {Refused} for an invalid request, which is not noted, because nothing was tried */
export async function act(
  { collector, notes, time }: Acting,
  body: unknown,
  who: string,
): Promise<ActionAnswer> {
  const { what, key, run } = planned(collector, body)
  const note = (outcome: ActionNote['outcome'], why: string | undefined): ActionNote => {
    const made = { atMs: time.nowMs(), who, what: plain(what), outcome, why: why && plain(why) }
    notes.add(made, key)
    return made
  }
  try {
    return { note: note('done', await run()) }
  } catch (error) {
    const problem = problemOf(error)
    const isRefused = error instanceof TypeError || error instanceof RangeError
    return { note: note(isRefused ? 'refused' : 'failed', problem.message), problem }
  }
}

/** Says what an action would do, and does and notes nothing. @throws {Refused}, and what the action
 *  would reject with, such as WEIR_INVALID_POLICY */
export async function preview(collector: Collector, body: unknown): Promise<Preview> {
  const plan = planned(collector, body)
  if (plan.preview === undefined) throw invalidRequest('this kind has nothing to preview')
  return { isNewCounter: await plan.preview() }
}
