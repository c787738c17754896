// Chance, from a seed: the same numbers in the same order for the same seed.

export interface Random {
  /** From 0 up to 1, and not 1. */
  next(): number
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** Another source, so that what one part draws does not shift what others draw. */
  fork(): Random
}

export function randomOf(seed: number): Random {
  let state = seed | 0
  const next = (): number => {
    // mulberry32, by T. Ettinger
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (least: number, most: number): number =>
    least + Math.floor(next() * (most - least + 1))
  return {
    next,
    whole,
    chance: (probability) => next() < probability,
    pick: (items) => items[whole(0, items.length - 1)] as (typeof items)[number],
    fork: () => randomOf(Math.floor(next() * 2 ** 32)),
  }
}
