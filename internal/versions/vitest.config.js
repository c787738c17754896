import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  test: {
    ...SHARED,
    // Files have a server of their own, and end it.
    ...ALONE,
    include: ['test/*.test.ts'],
    // Versions are loaded as they were built.
    server: { deps: { external: [/\/dist\//] } },
  },
})
