import { adapter, aroundNest, behaviour, configOf, nestOnFastify, tracers } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

// Nest 10 and 12 stand on both sides of 11, and run the behaviours for each change.
const isWeekly = process.env.WEIR_WEEKLY === '1'

export default configOf(
  manifest,
  adapter('nest'),
  nestOnFastify(),
  aroundNest(),
  isWeekly ? behaviour('Nest on Express', 'Nest on Fastify') : [],
  tracers(),
)
