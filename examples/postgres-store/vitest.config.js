import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    globalSetup: ['test/server.js'],
    ...SHARED,
    include: ['test/*.test.js'],
  },
})
