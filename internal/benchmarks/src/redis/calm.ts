import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisSubject } from './subject.js'

const ATTEMPTS = 5
/** Long enough for a circuit breaker to close again. */
const PAUSE_MS = 2_000

/**
 * Repeats a run that was disturbed, since decisions without Redis are not to be measured.
 */
export async function calmly<Result>(
  { disturbed }: Pick<RedisSubject, 'disturbed'>,
  work: (attempt: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    let failure: unknown = new Error('the machine is too busy to measure anything')
    try {
      const result = await work(attempt)
      if (!disturbed?.()) return result
    } catch (error) {
      if (!disturbed?.()) throw error
      failure = error
    }
    if (attempt === ATTEMPTS) throw failure
    await sleep(PAUSE_MS)
  }
}
