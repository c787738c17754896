// What other rate limiters call their options: users who come from one are shown the name to use
// here instead of a list of all names. docs/migrating.md has the whole story.

/** Names elsewhere, and their names here: of several, the one that the function knows. */
const ROWS: readonly (readonly [elsewhere: string, here: string])[] = [
  ['windowMs windowSeconds timeWindow duration durationMs interval ttl', 'window every period'],
  ['window every period refillInterval', 'window every period'],
  ['max points maxRequests requests quota limit capacity burst', 'limit capacity'],
  ['tokens bucketSize maxTokens', 'capacity burst limit'],
  ['tokensPerInterval refillRate rate', 'refill leak limit'],
  ['throttlers', 'policies policy'],
  ['ban continueExceeding exponentialBackoff', 'policy'],
  ['points weight tokens', 'cost'],
  ['keyGenerator getTracker tracker id', 'key'],
  ['identifier namespace nameSpace keyPrefix groupId', 'name prefix'],
  ['storage driver db redis cache client storeClient sendCommand', 'store'],
  ['handler throw throwThrottlingException onLimitReached onExceeded onBanReach', 'onDenied'],
  ['onLimited onExceeding', 'onDecision'],
  ['message errorMessage errorResponseBuilder', 'body'],
  ['statusCode', 'status'],
  ['skipIf ignoreUserAgents', 'skip'],
  ['whitelist allowList', 'allow'],
  ['blacklist denyList blockList', 'deny'],
  ['skipFailedRequests skipSuccessfulRequests requestWasSuccessful', 'refundWhen'],
  ['standardHeaders legacyHeaders disableHeader setHeaders enableDraftSpec', 'headers'],
  ['addHeaders addHeadersOnExceeding', 'headers'],
  ['requestPropertyName', 'requestProperty'],
  ['ipv6Subnet ipv6SubnetPrefix', 'ipv6Prefix'],
  ['passOnStoreError skipOnError insuranceLimiter', 'whenUnavailable'],
  ['delayAfter delayMs maxDelayMs', 'wait'],
  ['timeout timeoutMs', 'deadlineMs'],
]

/** The longest list of names that still helps. */
const MOST_LISTED = 8

/** Says what to write in place of an unknown name. */
export function rightName(name: string, known: readonly string[]): string {
  const here = ROWS.filter(([elsewhere]) => elsewhere.split(' ').includes(name))
    .flatMap(([, names]) => names.split(' '))
    .find((candidate) => known.includes(candidate))
  if (here !== undefined) return `here that is ${here}: see docs/migrating.md`
  const near = known.find((other) => isNear(name, other))
  if (near !== undefined) return `did you mean ${near}?`
  if (known.length <= MOST_LISTED) return `it knows ${known.join(', ')}`
  return 'see docs/migrating.md, or the options in the README of the package'
}

/** Whether the names differ only in case, or by one letter changed, missing or added, or by two
 *  letters swapped. */
function isNear(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  if (left.length + right.length <= 1 || (left.length === 1 && right.length === 1)) return true
  return left.length === 2 && left === `${right[1]}${right[0]}`
}
