// The answer to a question: what each limiter says, with hints and what remains unknown.

import { addressKey, quote } from '@weir/core/http'
import type { Live } from './live.js'
import type { Finding, Limiter } from './look.js'

/** A limiter and what its policies say. */
export interface Judged extends Omit<Limiter, 'sources'> {
  readonly findings: readonly Finding[]
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

/** A hint for when nothing is stored: the key may be unused, or the wrong place was asked. */
export function emptyHint({ key, limiters, isHashed }: Answer): string | undefined {
  const limiting = limiters.flatMap(({ findings }) => findings).filter(isLimiting)
  if (limiting.length === 0 || limiting.some(({ isStored }) => isStored)) return undefined
  const network = key.includes(':') ? addressKey()(key) : undefined
  const what =
    network === undefined || network === key
      ? 'nothing is stored under this key'
      : `nothing is stored under this key; middlewares count this address as ${quote(network)}`
  if (isHashed)
    return `${what}: is WEIR_HASH_KEYS right? And --key, --limiter, --prefix and --redis?`
  const secret = 'If the store has hashKeys, set WEIR_HASH_KEYS'
  return `${what}: are --key, --limiter, --prefix and --redis right? ${secret}`
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
