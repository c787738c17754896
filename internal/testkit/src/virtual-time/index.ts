// Virtual time: of one process in the tests of core, and of a whole fleet in internal/fleet.

export { Events } from './events.js'
export { type Random, randomOf } from './random.js'
export { type Timers, timersOn } from './timers.js'
