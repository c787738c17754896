import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.ts'],
    // Loading three majors of Nest takes longer than most tests; the files share nothing else.
    isolate: false,
    // For clients that wait in real time.
    maxConcurrency: 20,
    // For the leak test, which looks at what remains after garbage collection.
    execArgv: ['--expose-gc'],
  },
})
