import { adapter, aroundNest, behaviour, configOf, nestOnFastify, tracers } from '../projects.mjs'
import manifest from './package.json' with { type: 'json' }

/** Nest 10 and 12, on both sides, run the same for each change. */
const WEEKLY =
  process.env.WEIR_WEEKLY === '1'
    ? [
        ...[adapter('nest'), nestOnFastify(), aroundNest()],
        behaviour('Nest on Express', 'Nest on Fastify'),
      ]
    : []

export default configOf(manifest, tracers(), ...WEEKLY)
