// Statistics of samples, as pure functions.

/** The value below which this share of the values lies, interpolated between neighbours. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? Number.NaN
  return below + (above - below) * (at - Math.floor(at))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The distance between the quartiles as a share of the median: how much the rounds differ. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}
