// Failures of the page's requests: they are answered, never thrown into the application.

import type { Problem } from '../protocol.js'

const LONGEST = 1_000

/** Refuses a request: `code` says why, `message` what would be right. */
export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export function invalidRequest(message: string): Refused {
  return new Refused(400, 'invalid-request', message)
}

/** The answer for an error, of Weir's or any other. */
export function problemOf(error: unknown): Problem {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return {
    code: typeof code === 'string' ? code.slice(0, 100) : 'failed',
    message: plain(typeof message === 'string' ? message : 'it failed').slice(0, LONGEST),
  }
}

/** The text without control characters, which a log or a terminal might obey. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
