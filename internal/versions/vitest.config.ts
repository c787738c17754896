import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.ts'],
    // Versions are loaded as they were built.
    server: { deps: { external: [/\/dist\//] } },
  },
})
