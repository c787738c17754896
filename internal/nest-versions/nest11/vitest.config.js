import { adapter, aroundNest, behaviour, configOf, nestOnFastify, tracers } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

export default configOf(
  manifest,
  adapter('nest'),
  nestOnFastify(),
  aroundNest(),
  behaviour('Nest on Express', 'Nest on Fastify'),
  tracers(),
)
