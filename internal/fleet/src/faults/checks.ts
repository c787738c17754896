// A figure and its bound.

export interface Check {
  readonly what: string
  readonly value: string
  readonly bound: string
  readonly ok: boolean
  /** The check is the same in every row, and worth mentioning only when it fails. */
  readonly routine?: boolean
}

type Judge = (what: string, value: number, bound: number) => Check

const atMost = (text: (value: number) => string): Judge => {
  return (what, value, bound) => {
    return { what, value: text(value), bound: `<= ${text(bound)}`, ok: value <= bound }
  }
}
const atLeast = (text: (value: number) => string): Judge => {
  return (what, value, bound) => {
    return { what, value: text(value), bound: `>= ${text(bound)}`, ok: value >= bound }
  }
}
export const countAtMost: Judge = atMost(String)
export const countAtLeast: Judge = atLeast(String)
export const msAtMost: Judge = atMost(ms)
export const msAtLeast: Judge = atLeast(ms)
export const shareAtMost: Judge = atMost(percent)

export function exactly(what: string, value: number, bound: number): Check {
  return { what, value: String(value), bound: String(bound), ok: value === bound }
}

/** Fails if anything was found, and lists the first few. */
export function none(what: string, found: readonly string[]): Check {
  const shown = [...new Set(found)].slice(0, 3).join(' | ').slice(0, 300)
  const value = found.length === 0 ? '0' : `${found.length}: ${shown}`
  return { what, value, bound: '0', ok: found.length === 0, routine: true }
}

export function routine(check: Check): Check {
  return { ...check, routine: true }
}

/** Names the part of a row that checks belong to. */
export function named(part: string, checks: readonly Check[]): Check[] {
  return checks.map((check) => ({ ...check, what: `${part}: ${check.what}` }))
}

function ms(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return 'never'
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ms`
}

function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`
}
