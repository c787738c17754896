import { defineConfig } from 'vitest/config'
import { ALONE, SHARED } from '../../tools/vitest.mjs'

// They look at the memory or the one-time warnings of a process.
const alone = ['leaks', 'mounting', 'own-address'].map((name) => `test/${name}.test.ts`)

// Real outages, judged by the clock.
const outages = 'test/outages.test.ts'

// It starts examples, which `npm test` does not install.
const examples = 'test/example-addresses.test.ts'

export default defineConfig({
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: { include: ['test/*.test.ts'], exclude: [...alone, examples, outages] },
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, ...ALONE, execArgv: ['--expose-gc'] },
      },
      { step: 'outages', extends: true, test: { name: 'outages', ...ALONE, include: [outages] } },
      { step: 'examples', extends: true, test: { name: 'examples', include: [examples] } },
    ],
  },
})
