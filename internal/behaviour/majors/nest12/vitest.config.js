import { SHARED } from '../../../../tools/vitest.mjs'
import { aroundNest, behaviour, behaviourOf, configOf, nestOnFastify, once } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

const config = configOf(
  manifest,
  nestOnFastify(),
  aroundNest(),
  behaviour('Nest on Fastify'),
  behaviourOf('in-flight-http2', 'nest-beside-express', 'nest-metrics'),
  once(),
)
config.test.projects.push(
  { extends: true, test: { name: 'serverless', include: ['serverless/*.test.ts'] } },
  {
    step: 'incumbents',
    extends: true,
    test: {
      name: 'migration',
      setupFiles: [...SHARED.setupFiles, 'migration/clock.ts'],
      include: ['migration/*.test.ts'],
    },
  },
)

export default config
