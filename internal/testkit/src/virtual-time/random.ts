// Random numbers from a seed: the same seed gives the same numbers in the same order.

export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** A separate source, so that the numbers drawn by one part do not shift those of the others. */
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
