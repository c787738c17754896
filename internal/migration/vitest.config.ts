import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs', 'test/clock.ts'],
    include: ['test/*.test.ts'],
  },
})
