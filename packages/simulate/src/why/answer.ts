// The answer to a question: what each limiter says, with hints and what remains unknown.

import { addressKey } from '@weir/core/http'
import { quote } from '@weir/core/internal'
import type { Live } from './live.js'
import type { Finding, Limiter } from './look.js'

/** A limiter and what its policies say. */
export interface Judged extends Omit<Limiter, 'sources'> {
  readonly findings: readonly Finding[]
  /** What is stored under other names of its policies. Empty if something is stored under their
   *  own. */
  readonly renamed: readonly Finding[]
}

export interface Answer {
  readonly key: string
  readonly cost: number
  readonly limiters: readonly Judged[]
  readonly live: Live | undefined
  /** Keys are stored as hashes with a secret. */
  readonly isHashed: boolean
  /** A function in the file has chosen the policies. */
  readonly isChosen: boolean
}

/** The policies that refuse, the one with the longest wait first. */
export function refusingOf({ findings }: Judged): readonly Finding[] {
  const refusing = findings.filter(({ passes }) => !passes)
  return refusing.sort((one, two) => two.retryAfterMs - one.retryAfterMs)
}

export function wouldPass({ limiters }: Answer): boolean {
  return limiters.every((each) => refusingOf(each).length === 0)
}

/** Whether the key is a new one to the limiter: nothing is stored under it. */
export function isNew({ findings }: Pick<Judged, 'findings'>): boolean {
  const limiting = findings.filter(isLimiting)
  return limiting.length > 0 && !limiting.some(({ isStored }) => isStored)
}

/** Hints for when nothing is stored: the key may be unused, or the wrong place was asked. */
export function hintsOf(answer: Answer): readonly string[] {
  const { limiters } = answer
  const renamed = limiters.flatMap(({ name, renamed: all }) => all.map(renamedHint(name)))
  if (renamed.length > 0) return renamed
  const limiting = limiters.filter(({ findings }) => findings.some(isLimiting))
  return limiting.length > 0 && limiting.every(isNew) ? emptyHints(answer) : []
}

function renamedHint(limiter: string): (finding: Finding) => string {
  return ({ name, used, limit }) => {
    const what = `limiter ${quote(limiter)} has counted this key under the policy name`
    const why = name === limiter ? ', as a middleware names the policy of limit and window' : ''
    const right = 'give the policy this name in the file'
    return `${what} ${quote(name)}${why}: ${used} of ${limit} used; ${right}`
  }
}

function emptyHints({ key, limiters, isHashed }: Answer): readonly string[] {
  const network = key.includes(':') ? addressKey()(key) : undefined
  const what =
    network === undefined || network === key
      ? 'nothing is stored under this key'
      : `nothing is stored under this key; middlewares count this address as ${quote(network)}`
  const options = '--key, --limiter, --prefix and --redis'
  const first = isHashed
    ? `${what}: is WEIR_HASH_KEYS right? And ${options}?`
    : `${what}: are ${options} right? If the store has hashKeys, set WEIR_HASH_KEYS`
  const names = limiters.flatMap(namesIn)
  if (names.length === 0) return [first]
  const same = "the application's policies must have these names, algorithms and windows"
  return [first, `${same}: ${names.join('; ')}`]
}

/** The policies of a file that were asked for, by what their keys in Redis are made of. */
function namesIn({ name: limiter, findings }: Judged): readonly string[] {
  const inFile = findings.filter((each) => isLimiting(each) && each.live === undefined)
  const names = inFile.map(({ name, use: { policy } }) => {
    return `${quote(name)} (${policy.algorithm}, ${policy.timeScale})`
  })
  return names.length === 0 ? [] : [`limiter ${quote(limiter)} has ${names.join(', ')}`]
}

function isLimiting({ limit }: Finding): boolean {
  return limit !== Number.POSITIVE_INFINITY
}

/** What may matter and Redis cannot tell. */
export function unknownsOf({ limiters, live, isChosen }: Answer): readonly string[] {
  const unknown = [
    'leases: units that processes have taken ahead count as used here',
    'what processes have admitted without Redis and not yet counted in it',
    'deny caches: for up to a second, a process may refuse what Redis would allow by now',
    'factors of adaptive policies, what classes must leave, limiters that are switched off',
  ]
  if (isChosen)
    unknown.push('what policy functions choose in the application: they were asked here')
  if (limiters.some(({ areTogether }) => !areTogether))
    unknown.push('which of these policies the application uses for this key')
  if (live === undefined)
    unknown.push(
      'live policies and overrides, if the application has some: give --name to see them',
    )
  else unknown.push('processes that have not reported in the last 15 s')
  return unknown
}
