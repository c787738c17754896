// The public surface of @weir/simulate. Nothing here needs Node, so it also runs in a browser.

export {
  type ChangedKeys,
  type ComparedLimiter,
  type CompareReport,
  type Comparison,
  type ComparisonOptions,
  comparison,
} from './compare.js'
export type { SimulateError, SimulateErrorCode } from './errors.js'
export type { LimiterInput, PoliciesInput } from './limiters.js'
export type { AddressReport, ProxyReport } from './log/clients.js'
export type { LogEntry, Parsed } from './log/entry.js'
export type { FieldNames } from './log/fields.js'
export {
  formatOf,
  type LogFormat,
  type LogParser,
  type ParserOptions,
  parserOf,
} from './log/formats.js'
export { type KeyOf, keyOf } from './log/keys.js'
export {
  type BrokenLine,
  type LogReader,
  logReader,
  type ReaderOptions,
  type ReadReport,
} from './log/reader.js'
export type * from './report.js'
export type { AffectedKey } from './run/affected.js'
export type { Step } from './run/series.js'
export type { Share } from './run/shares.js'
export {
  type DecisionListener,
  type Simulation,
  type SimulationOptions,
  simulation,
} from './simulation.js'
export {
  type Advice,
  type CurvePoint,
  type Plateau,
  type Suggesting,
  type SuggestionOptions,
  type SuggestionReport,
  suggestion,
  type WindowSuggestion,
} from './suggestion.js'
