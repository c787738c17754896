// A row of a table of bounds: what a formula says in words, and what it says with numbers.

/** The limit of the examples. */
export const LIMIT = 100

export interface BoundRow {
  /** A limiter by this, or a failure like this ... */
  readonly when: string
  /** ... lets so much pass at the most: the formula. */
  readonly passes: string
  readonly examples: readonly Example[]
}

export interface Example {
  /** May be empty, if the row itself says it. */
  readonly when: string
  /** The terms, which show how the formula comes to its result. */
  readonly terms: string
  /** The formula's result. */
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
