import {
  adapter,
  adapters,
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
  ...adapters(),
  adapter('nest'),
  behaviour(),
  behaviourOf('mounting'),
  ...WEEKLY,
)
