// The process warnings of tests that ask for some.

import { afterEach, beforeEach, vi } from 'vitest'

interface Warnings {
  readonly all: readonly { readonly code: string; readonly text: string }[]
  readonly codes: string[]
  readonly texts: string[]
}

/** Catches the warnings of each test in a file. What it returns has those of the present test. */
export function catchWarnings(): Warnings {
  const all: { code: string; text: string }[] = []
  beforeEach(() => {
    all.length = 0
    vi.spyOn(process, 'emitWarning').mockImplementation(((
      text: string,
      { code }: { code: string },
    ) => {
      all.push({ code, text })
    }) as typeof process.emitWarning)
  })
  afterEach(() => vi.restoreAllMocks())
  return {
    all,
    get codes() {
      return all.map(({ code }) => code)
    },
    get texts() {
      return all.map(({ text }) => text)
    },
  }
}
