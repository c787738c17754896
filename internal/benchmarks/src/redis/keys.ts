/** Numbers below `count` in random order, some of them repeated; the same in every run. */
export function randomOrder(count: number): Uint32Array {
  const order = new Uint32Array(Math.min(2 ** 18, 8 * count))
  let state = 1
  for (let i = 0; i < order.length; i += 1) {
    // mulberry32: a 32-bit generator without short cycles.
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    order[i] = ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }
  return order
}
