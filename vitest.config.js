// `npm test`: one vitest for the packages whose tests need nothing but Node and Redis. The tests of
// other packages are steps of CI: `"weir": { "step": NAME }` in a package.json names the step, and
// WEIR_STEP=NAME runs it.
import { availableParallelism } from 'node:os'
import { projectsOf } from './scripts/projects.mjs'

export default {
  test: {
    projects: await projectsOf(process.env.WEIR_STEP ?? 'test'),
    maxWorkers: availableParallelism(),
  },
}
