import {
  adapter,
  aroundNest,
  behaviour,
  behaviourOf,
  configOf,
  nestOnFastify,
} from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

export default configOf(
  manifest,
  adapter('express'),
  adapter('koa'),
  adapter('nest'),
  nestOnFastify(),
  aroundNest(),
  behaviour('Express', 'Koa', 'Nest on Express', 'Nest on Fastify'),
  behaviourOf('mounting'),
)
