// Lines of logs, as servers write them.

export interface Line {
  readonly ip?: string
  readonly user?: string
  /** In us since 1970. */
  readonly timeUs: number
  readonly request?: string
  readonly status?: number
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** In the Combined Log Format; a time that is not a whole second has a fraction. */
export function combined(line: Line): string {
  const { ip = '203.0.113.7', user = '-', timeUs, request = 'GET / HTTP/1.1', status = 200 } = line
  const date = new Date(Math.floor(timeUs / 1_000))
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  const us = timeUs % 1_000_000
  const fraction = us === 0 ? '' : `.${String(us).padStart(6, '0')}`
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}`
  const time = `${day}:${clock}${fraction} +0000`
  return `${ip} - ${user} [${time}] "${request}" ${status} 512 "-" "curl/8.5.0"`
}

/** The start of 2026-10-10, in us since 1970. */
export const START_US: number = Date.UTC(2026, 9, 10) * 1_000
