// Policies as data: a factory's options, with the algorithm's name. Data that is read from a
// database or typed by an operator goes through the factory again, so it is checked like code.

import { invalid, quote, rangeError, typeError } from '../base/errors.js'
import { factories } from './factories.generated.js'
import { checkPolicy, type Policy } from './policy.js'
import { unlimited } from './unlimited.js'

const FACTORIES: typeof factories = { unlimited, ...factories }

const LONGEST_TEXT = 1_000

/**
 * The policy that data describes: `algorithm`, such as `'token-bucket'`, and its factory's options,
 * as an object or as JSON.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, also for text that is not JSON, names an
 * option twice or has over 1,000 characters; WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example policyFrom({ algorithm: 'sliding-window', name: 'requests', limit: 100, window: '1m' })
 * @example policyFrom('{"algorithm":"fixed-window","name":"daily","limit":1000,"window":"1d"}')
 */
export function policyFrom(data: string | object): Policy {
  const given: unknown = typeof data === 'string' ? parsed(data) : data
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const right = '{ algorithm, ...options of its factory }'
    throw invalid('WEIR_INVALID_POLICY', 'the description of a policy', data, right)
  }
  const { algorithm, ...options } = given as { readonly algorithm?: unknown }
  if (typeof algorithm === 'string' && Object.hasOwn(FACTORIES, algorithm))
    return (FACTORIES[algorithm] as (options: never) => Policy)(options as never)
  const right = Object.keys(FACTORIES).join(', ')
  throw invalid('WEIR_INVALID_POLICY', 'algorithm', algorithm, right, 'string')
}

/** The policy that stored data describes. Undefined: none, or one that this version of Weir does
 *  not know. */
export function policyIn(data: string | object): Policy | undefined {
  try {
    return policyFrom(data)
  } catch {
    return undefined
  }
}

function parsed(text: string): unknown {
  const refuse = (problem: string): never => {
    throw rangeError('WEIR_INVALID_POLICY', `the policy ${quote(text)} ${problem}`)
  }
  if (text.length > LONGEST_TEXT) refuse(`has over ${LONGEST_TEXT} characters`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    refuse('is not JSON; give an object of options')
  }
  // Where an option stands twice, JSON.parse takes the last, and a reader may see the first.
  const names = text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)
  const count = [...names].filter(([, colon]) => colon === ':').length
  if (count > Object.keys(value ?? {}).length) refuse('has an option twice, or one within another')
  return value
}

/**
 * A policy as text that `policyFrom` reads.
 * @throws {TypeError} WEIR_INVALID_POLICY for a policy that no factory made
 */
export function policyText(policy: Policy): string {
  checkPolicy(policy, 'policy')
  const text = JSON.stringify({ algorithm: policy.algorithm, ...policy.options })
  // A policy that was derived from another, or changed since, would be read as something else.
  if (policy.options === undefined || policyFrom(text).signature !== policy.signature) {
    const what = `policy ${quote(policy.name)} cannot be stored as data`
    throw typeError('WEIR_INVALID_POLICY', `${what}; give one that a factory made, unchanged`)
  }
  return text
}
