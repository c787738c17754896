// What other rate limiters call their options: whoever comes from one is shown the name to use here
// and not a list of all there are. docs/migrating.md has the whole story.

/** Names elsewhere, and what they are here: of several, the one that the function has. */
const ROWS: readonly (readonly [elsewhere: string, here: string])[] = [
  ['windowMs windowSeconds timeWindow duration durationMs interval ttl', 'window every period'],
  ['window every period refillInterval', 'window every period'],
  ['max points maxRequests requests quota limit capacity burst', 'limit capacity'],
  ['tokens bucketSize maxTokens', 'capacity burst limit'],
  ['tokensPerInterval refillRate rate', 'refill leak limit'],
  ['throttlers', 'policies policy'],
  ['points weight tokens', 'cost'],
  ['keyGenerator getTracker tracker id', 'key'],
  ['identifier namespace keyPrefix', 'name prefix'],
  ['storage driver db redis client storeClient sendCommand', 'store'],
  ['handler throw throwThrottlingException onLimitReached onExceeded', 'onDenied'],
  ['onLimited onExceeding', 'onDecision'],
  ['message errorMessage errorResponseBuilder', 'body'],
  ['statusCode', 'status'],
  ['skipIf ignoreUserAgents', 'skip'],
  ['whitelist allowList', 'allow'],
  ['blacklist denyList blockList', 'deny'],
  ['skipFailedRequests skipSuccessfulRequests requestWasSuccessful', 'refundWhen'],
  ['standardHeaders legacyHeaders disableHeader setHeaders enableDraftSpec', 'headers'],
  ['requestPropertyName', 'requestProperty'],
  ['ipv6Subnet ipv6SubnetPrefix', 'ipv6Prefix'],
  ['passOnStoreError skipOnError insuranceLimiter', 'whenUnavailable'],
  ['delayAfter delayMs maxDelayMs', 'wait'],
  ['timeout timeoutMs', 'deadlineMs'],
]

/** The longest list of names that is of help. */
const MOST_LISTED = 8

/** What to write in place of a name that is none of the names known. */
export function rightName(name: string, known: readonly string[]): string {
  const here = ROWS.filter(([elsewhere]) => elsewhere.split(' ').includes(name))
    .flatMap(([, names]) => names.split(' '))
    .find((candidate) => known.includes(candidate))
  if (here !== undefined) return `here that is ${here}: see docs/migrating.md`
  const near = known.find((other) => isNear(name, other))
  if (near !== undefined) return `is it ${near} that is meant?`
  if (known.length <= MOST_LISTED) return `it knows ${known.join(', ')}`
  return 'see docs/migrating.md, or the options in the README of the package'
}

/** Whether one is the other in another case, or with a letter changed, missing, too many, or with
 *  two in the wrong order. */
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
