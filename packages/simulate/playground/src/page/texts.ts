// Numbers and times in words: in English, like the rest of the page.

const whole = new Intl.NumberFormat('en-US')

export function countText(count: number): string {
  return whole.format(count)
}

/** A share in percent. Shows 0 % only for none, and 100 % only for all. */
export function shareText(part: number, all: number): string {
  if (all === 0 || part === 0) return '0\u00a0%'
  if (part === all) return '100\u00a0%'
  const percent = Math.min(99.9, Math.max(0.1, (100 * part) / all))
  return `${percent.toFixed(1)}\u00a0%`
}

/** A time since the traffic began, to the precision that the window needs. */
export function timeText(atMs: number, windowMs: number): string {
  const seconds = atMs / 1_000
  if (windowMs < 60_000) return `${trimmed(seconds, windowMs < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(seconds / 60)
  const rest = String(Math.floor(seconds % 60)).padStart(2, '0')
  if (minutes < 60) return `${minutes}:${rest}`
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`
}

function trimmed(seconds: number, digits: number): string {
  return String(Number(seconds.toFixed(digits)))
}

/** 1 request, 2 requests. */
export function requestsText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'request' : 'requests'}`
}
