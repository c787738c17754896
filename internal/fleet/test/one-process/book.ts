// What a process has let through under a key, and what Redis has counted of it.

import type { Taken } from './usage.js'

interface Admission extends Taken {
  readonly by: 'store' | 'local'
}

/** What was let through under a key since it was last reset. */
export interface Book {
  readonly admissions: Admission[]
  /** All that Redis has counted, be it asked by users or settled. */
  counted: number
  readonly wasReset: boolean
  /** Calls were on their way when it was reset: what they counted before it is taken for a part of
   *  what came after. Or a reset was sent, and nobody knows whether Redis has made it. */
  isMurky: boolean
  /** The reset that began this book failed, so that one goes on. */
  before?: Book
}

/** The book that goes on, where resets have failed. */
export function rootOf(book: Book): Book {
  return book.before === undefined ? book : rootOf(book.before)
}
