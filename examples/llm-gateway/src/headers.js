// @ts-check
// The limits in the headers that clients of OpenAI's API read. A middleware with `headers:
// 'openai'` sends them itself.

const SHOWN = ['requests', 'tokens']

/**
 * @param {import('@weir/core').Decision} decision
 * @returns {Record<string, string>}
 */
export function openAiHeaders(decision) {
  /** @type {Record<string, string>} */
  const headers = {}
  for (const { policy, limit, remaining, resetAfterMs } of decision.policies) {
    if (!SHOWN.includes(policy.name)) continue
    headers[`x-ratelimit-limit-${policy.name}`] = String(limit)
    headers[`x-ratelimit-remaining-${policy.name}`] = String(remaining)
    headers[`x-ratelimit-reset-${policy.name}`] = spanText(resetAfterMs)
  }
  // A request that can never pass has no time to retry.
  if (!decision.allowed && Number.isFinite(decision.retryAfterMs))
    headers['retry-after'] = String(Math.ceil(decision.retryAfterMs / 1_000))
  return headers
}

/**
 * A duration as Go writes it: 120ms, 8s, 6m0s, 1h0m0s. It is rounded up, so that a client that
 * waits for it does not come too early.
 * @param {number} ms
 */
export function spanText(ms) {
  if (ms <= 999) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const parts = [`${seconds % 60}s`]
  if (minutes > 0) parts.unshift(`${minutes % 60}m`)
  if (hours > 0) parts.unshift(`${hours}h`)
  return parts.join('')
}
