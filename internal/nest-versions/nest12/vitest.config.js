import { aroundNest, behaviour, behaviourOf, configOf, nestOnFastify, once } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

export default configOf(
  manifest,
  nestOnFastify(),
  aroundNest(),
  behaviour('Nest on Fastify'),
  behaviourOf('nest-beside-express', 'nest-metrics'),
  once(),
)
