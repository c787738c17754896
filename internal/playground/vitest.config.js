import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    include: ['test/*.test.ts'],
    globalSetup: ['@weir/testkit/browser'],
  },
})
