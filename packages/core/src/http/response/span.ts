const MINUTE_S = 60
const HOUR_S = 3_600

/**
 * A span as Go writes it: 120ms, 8s, 6m0s, 1h0m0s. Rounded up, to whole ms below a second and to
 * whole seconds from there, so that who waits as long does not come too early.
 */
export function spanText(ms: number): string {
  if (ms <= 999) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1_000)
  const text = `${seconds % MINUTE_S}s`
  if (seconds < MINUTE_S) return text
  const minutes = `${Math.floor((seconds % HOUR_S) / MINUTE_S)}m${text}`
  return seconds < HOUR_S ? minutes : `${Math.floor(seconds / HOUR_S)}h${minutes}`
}
