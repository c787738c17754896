// For tests of an application's limits (a clock that stands still), and of stores (traces and the
// conformance suite), and for tools: what each algorithm promises, costs and means.

export type * from '../algorithms/description.js'
export { algorithms, descriptionOf } from './algorithms.js'
export { type FakeClock, fakeClock } from './clock.js'
export { type ConformanceCase, type ConformanceOptions, storeConformance } from './conformance.js'
export { replayTrace } from './trace.js'
export { traces } from './traces.generated.js'
