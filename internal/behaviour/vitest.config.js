import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    include: ['test/*.test.ts'],
    // Loading three majors of Nest takes longer than most tests; the files share nothing else.
    // For clients that wait in real time.
    maxConcurrency: 20,
    // For the leak test, which looks at what remains after garbage collection.
    execArgv: ['--expose-gc'],
  },
})
