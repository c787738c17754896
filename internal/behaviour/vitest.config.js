import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// They look at the memory or the one-time warnings of a process.
const alone = ['leaks', 'mounting', 'own-address'].map((name) => `test/${name}.test.ts`)

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      { extends: true, test: { include: ['test/*.test.ts'], exclude: alone } },
      {
        extends: true,
        test: { name: 'alone', include: alone, ...ALONE, execArgv: ['--expose-gc'] },
      },
    ],
  },
})
