/** What a class that leaves a fraction of a limit leaves of it, in whole units, rounded up; what is
 *  above a whole one by the error of doubles alone is that one. */
export function reservedUnits(fraction: number, limit: number): number {
  const units = fraction * limit
  const isWhole = units - Math.floor(units) <= 2 * Number.EPSILON * units
  return isWhole ? Math.floor(units) : Math.ceil(units)
}
