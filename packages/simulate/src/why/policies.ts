// The limiters of a policies file, with the policies that they have for one key.

import type { Policy, PolicyInput, PolicyUse } from '@weir/core'
import { isPolicy, quote } from '@weir/core/internal'
import { misuse, misused } from '../errors.js'
import { policiesIn } from '../files/policies-file.js'
import { hasPolicy, isLimitAndWindow, policyOfLimiter, UNNAMED } from '../limiters.js'
import { threw } from '../run/call-user.js'
import type { Question } from './options.js'

export interface FileLimiter {
  readonly name: string
  readonly uses: readonly PolicyUse[]
  /** True: a function chose the policies, and may choose others in the application. */
  readonly isChosen: boolean
}

type Given = PolicyInput | ((key: string) => PolicyInput | Promise<PolicyInput>)

/**
 * @throws {SimulateError} WEIR_INVALID_OPTION if the file has no such limiter,
 * WEIR_INVALID_POLICY, WEIR_POLICIES_FAILED
 */
export async function limitersIn({
  file = '',
  limiter,
  key,
}: Pick<Question, 'file' | 'limiter' | 'key'>): Promise<readonly FileLimiter[]> {
  const all = givenIn(await policiesIn(file), file)
  const wanted = all.filter(([name]) => limiter === undefined || limiter === name)
  if (wanted.length === 0) {
    const names = all.map(([name]) => quote(name)).join(', ')
    throw misuse('--limiter', limiter, `one that ${quote(file)} has: ${names}`)
  }
  return Promise.all(wanted.map(([name, given]) => limiterOf(name, given, key, file)))
}

/** What the default export has, by limiter name. */
function givenIn(exported: unknown, file: string): readonly (readonly [string, Given])[] {
  if (isGiven(exported)) return [[UNNAMED, exported]]
  const isObject = typeof exported === 'object' && exported !== null
  const entries = isObject ? Object.entries(exported) : []
  const all = entries.map(([name, value]) => [name, ofLimiter(name, value, file)] as const)
  const wrong = all.find(([, given]) => given === undefined)
  if (all.length > 0 && wrong === undefined) return all as [string, Given][]
  const what = wrong === undefined ? 'its default export' : `what it has for ${quote(wrong[0])}`
  const right =
    'a policy, a list of them, or an object of those, or of { limit, window }, by the names of limiters'
  throw misused('WEIR_INVALID_POLICY', `${what} in ${quote(file)} is no policy; give ${right}`)
}

/** A limiter's policy, or an object with `policy`, or with `limit` and `window`, whose other
 *  properties are about logs. */
function ofLimiter(name: string, value: unknown, file: string): Given | undefined {
  if (isGiven(value)) return value
  if (isLimitAndWindow(value)) {
    if (hasPolicy(value)) return undefined
    return policyOfLimiter(name, value, `limiter ${quote(name)} in ${quote(file)}`)
  }
  const { policy } = (value ?? {}) as { policy?: unknown }
  return isGiven(policy) || typeof policy === 'function' ? (policy as Given) : undefined
}

function isGiven(value: unknown): value is PolicyInput {
  return isPolicy(value) || (Array.isArray(value) && value.length > 0 && value.every(isUse))
}

function isUse(value: unknown): boolean {
  return isPolicy(value) || isPolicy((value as Partial<PolicyUse> | undefined)?.policy)
}

async function limiterOf(
  name: string,
  given: Given,
  key: string,
  file: string,
): Promise<FileLimiter> {
  const isChosen = typeof given === 'function'
  const input = isChosen ? await chosenBy(given, name, key, file) : given
  const list: readonly (Policy | PolicyUse)[] = Array.isArray(input) ? input : [input as Policy]
  return { name, isChosen, uses: list.map((each) => ('policy' in each ? each : { policy: each })) }
}

async function chosenBy(
  choose: Extract<Given, (key: string) => unknown>,
  name: string,
  key: string,
  file: string,
): Promise<PolicyInput> {
  const what = `the policy function of ${quote(name)} in ${quote(file)}`
  let chosen: unknown
  try {
    chosen = await choose(key)
  } catch (error) {
    throw threw(what, error)
  }
  if (isGiven(chosen)) return chosen
  throw misused('WEIR_POLICIES_FAILED', `${what} chose ${quote(chosen)}, which is no policy`)
}
