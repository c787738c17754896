// `@weir/core/internal`: what Weir's own packages share, not documented and not for applications.
// Versions of the packages may be mixed, so a name goes only where an export of the root might.

export type { Kernel } from '../algorithms/algorithm.js'
export { isPolicy, kernelOf, numbersOf, policyNamed } from '../algorithms/policy.js'
export { invalid, quote, typeError, withPage } from '../base/errors.js'
export { NO_KEY } from '../base/key-text.js'
export { isPromise } from '../base/maybe-async.js'
export { type Checks, checkAll, ofType } from '../base/options.js'
export { warnOnce } from '../base/warnings.js'
export { heldOf } from '../limiter/slots/held.js'
export { isKey } from '../policy-input.js'
