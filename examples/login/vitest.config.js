import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['../../tools/quiet.mjs'],
    include: ['test/*.test.js'],
    // Attackers solve every challenge at no cost.
    env: { CHALLENGE_BITS: '0' },
  },
})
