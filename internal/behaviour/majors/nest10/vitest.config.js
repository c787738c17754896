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

const isWeekly = process.env.WEIR_WEEKLY === '1'
/** For each change, what asks Nest itself; what else adapters promise is theirs on any major. */
const ASKING = ['enforcement', 'module', 'order', 'overrides', 'scopes']
/** On the newest majors they run for each change. */
const WEEKLY = isWeekly ? [...adapters(), nestOnFastify(), aroundNest()] : []

export default configOf(
  manifest,
  adapter('nest', isWeekly ? undefined : ASKING),
  behaviour(),
  behaviourOf('mounting'),
  ...WEEKLY,
)
