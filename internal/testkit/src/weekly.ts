// What distinguishes `npm test` from the weekly run (WEIR_WEEKLY=1): `npm test` takes the same
// short walks each time, and the weekly run takes long ones from seeds that it draws.

export const isWeekly: boolean = process.env.WEIR_WEEKLY === '1'

/** Walks are shorter still on servers on which `npm test` does not run. */
export const isShort: boolean = process.env.WEIR_SHORT === '1'

/** The seed of a walk. Print it if the walk fails. */
export function seedOf(fixed: number): number {
  return isWeekly ? Math.floor(Math.random() * 2 ** 32) : fixed
}

/** How many steps a walk takes. */
export function stepsOf(each: number, weekly: number): number {
  return isWeekly ? weekly : each
}
