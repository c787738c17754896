import {
  adapter,
  aroundNest,
  behaviour,
  behaviourOf,
  configOf,
  nestOnFastify,
} from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

/** On Nest 12 they run for each change. */
const WEEKLY = process.env.WEIR_WEEKLY === '1' ? [nestOnFastify(), aroundNest()] : []

export default configOf(
  manifest,
  adapter('express'),
  adapter('koa'),
  adapter('nest'),
  behaviour('Express', 'Koa', 'Nest on Express', 'Nest on Fastify'),
  behaviourOf('mounting'),
  ...WEEKLY,
)
