import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// Their challenges need work, those of the others none. The work is set when a process begins.
const working = ['test/{challenge,start}.test.js']

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: { ...ALONE, name: 'work', include: working },
      },
      {
        extends: true,
        test: {
          name: 'attacks',
          include: ['test/*.test.js'],
          exclude: working,
          // Attackers solve every challenge at no cost.
          env: { CHALLENGE_BITS: '0' },
        },
      },
    ],
  },
})
