import { defineConfig } from 'vitest/config'

// Rows wait most of the time: three at once fit on two cores. Not beside other tests, which do not wait.
// The matrix itself judges times, which a machine that is busy with other tests spoils: `FAULTS=1 vitest run` here, or
// `pnpm faults`, on a machine that has nothing else to do.
const include = process.env.FAULTS === '1' ? ['test/*.test.ts'] : ['test/{figures,judge,report}.test.ts']

export default defineConfig({
  test: { include, testTimeout: 120_000, maxConcurrency: 3, fileParallelism: false },
})
