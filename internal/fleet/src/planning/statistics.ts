// Sums, quantiles, and what a line through measurements says.

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** @param sorted the smallest first */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
}

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
}

export interface Observation {
  /** How often each part of the cost is in it. */
  readonly counts: readonly number[]
  readonly cost: number
}

/**
 * What each part costs, none of them below 0, so that the squares of the relative errors are least:
 * by coordinate descent, which ends where no part alone makes it better.
 */
export function partsOf(observations: readonly Observation[]): number[] {
  const rows = observations.map(({ counts, cost }) => counts.map((count) => count / cost))
  const parts = (rows[0] ?? []).map(() => 0)
  for (let round = 0; round < 20_000; round += 1) {
    for (let j = 0; j < parts.length; j += 1) {
      let above = 0
      let below = 0
      for (const row of rows) {
        const rest = 1 - sum(row.map((value, i) => (i === j ? 0 : value * (parts[i] as number))))
        above += (row[j] as number) * rest
        below += (row[j] as number) ** 2
      }
      parts[j] = Math.max(0, above / below)
    }
  }
  return parts
}
