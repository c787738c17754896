// What a process has let through under a key, and how much of it Redis has counted.

import type { Taken } from './usage.js'

interface Admission extends Taken {
  readonly by: 'store' | 'local'
}

/** What was let through under a key since its last reset. */
export interface Book {
  readonly admissions: Admission[]
  /** Everything that Redis has counted, whether users asked for it or a recovery reported it. */
  counted: number
  readonly wasReset: boolean
  /** Calls were on their way when the key was reset, so what they counted before is taken to come
   *  after it. Or a reset was sent, and nobody knows whether Redis has run it. */
  isMurky: boolean
  /** The book before the reset that began this one, if that reset failed: the earlier book goes
   *  on. */
  before?: Book
}

/** The book that goes on after resets have failed. */
export function rootOf(book: Book): Book {
  return book.before === undefined ? book : rootOf(book.before)
}
