import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    setupFiles: [...SHARED.setupFiles, './test/seed.ts'],
    include: ['test/*.test.ts'],
  },
})
