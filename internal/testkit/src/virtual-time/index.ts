// Virtual time, for one process in the tests of core, and for a whole fleet in internal/fleet.

export { Events } from './events.js'
export { type Random, randomOf } from './random.js'
export { type Timers, timersOn } from './timers.js'
