import type { Progress } from '../files/read-logs.js'
import { asCount, asDuration } from './numbers.js'

/** Shows how far a search has come, and how long it will take. */
export function searchProgressTo(
  show: ((line: string) => void) | undefined,
): (done: number, ofAll: number) => void {
  const startMs = Date.now()
  return (done, ofAll) => {
    const restMs = ((Date.now() - startMs) / done) * (ofAll - done)
    const left = done === 0 ? '' : `, about ${asDuration(Math.round(restMs))} left`
    show?.(`searched ${done} of ${ofAll} times for a limit${left}`)
  }
}

/** Shows how far reading has come, how fast it goes, and how long it will take. */
export function progressTo(
  show: ((line: string) => void) | undefined,
): ((progress: Progress) => void) | undefined {
  if (show === undefined) return undefined
  const startMs = Date.now()
  return ({ bytes, ofBytes, entries }) => {
    const ms = Math.max(1, Date.now() - startMs)
    const rate = `${asCount(Math.round((entries / ms) * 1_000))} a second`
    const line = `${asCount(entries)} requests, ${rate}`
    if (ofBytes === undefined || bytes === 0) {
      show(line)
      return
    }
    const part = Math.min(1, bytes / ofBytes)
    show(`${Math.floor(part * 100)} %, ${line}, ${asDuration(Math.round(ms / part - ms))} left`)
  }
}
