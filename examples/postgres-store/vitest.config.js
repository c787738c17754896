import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: ['test/server.js'],
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.js'],
  },
})
