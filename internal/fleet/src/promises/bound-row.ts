// A row of a table of bounds: a formula in words, and an example with numbers.

/** The limit of the examples. */
export const LIMIT = 100

export interface BoundRow {
  /** A limiter with this algorithm, or a failure such as this ... */
  readonly when: string
  /** ... lets at most this much pass: the formula. */
  readonly passes: string
  readonly example: Example
}

export interface Example {
  /** May be empty if the row itself says it. */
  readonly when: string
  /** The terms that show how the formula gives its result. */
  readonly terms: string
  /** The result of the formula. */
  readonly most: number
}

export function example(when: string, terms: string, most: number): Example {
  return { when, terms, most }
}

export function textOf({ when, terms, most }: Example): string {
  const numbers = terms === `${most}` ? terms : `${terms} = ${most}`
  return when === '' ? numbers : `${when}: ${numbers}`
}

export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
