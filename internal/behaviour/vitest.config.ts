import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.ts'],
    // Loading three majors of Nest takes longer than most files do; they share nothing else.
    isolate: false,
    // For the clients that wait in real time.
    maxConcurrency: 20,
    // For the leak test, which asks what is left after a collection.
    execArgv: ['--expose-gc'],
  },
})
