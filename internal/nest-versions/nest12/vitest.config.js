import { aroundNest, behaviour, behaviourOf, configOf, nestOnFastify, once } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

export default configOf(
  manifest,
  nestOnFastify(),
  aroundNest(),
  behaviour('Nest on Fastify'),
  behaviourOf('in-flight-http2', 'nest-beside-express', 'nest-metrics'),
  once(),
)
