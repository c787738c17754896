// Sums, quantiles, and fits of measurements.

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** @param sorted in ascending order */
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
  /** How often the cost contains each part. */
  readonly counts: readonly number[]
  readonly cost: number
}

/**
 * The cost of each part, at least 0, that minimizes the squares of the relative errors. Found by
 * coordinate descent, which ends when no single part can improve the result.
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
