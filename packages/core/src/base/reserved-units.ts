/** The units that a class with a reserve leaves to others: its fraction of the limit, rounded up. A
 *  product that is above a whole number only by the error of doubles counts as that number. */
export function reservedUnits(fraction: number, limit: number): number {
  const units = fraction * limit
  const isWhole = units - Math.floor(units) <= 2 * Number.EPSILON * units
  return isWhole ? Math.floor(units) : Math.ceil(units)
}
