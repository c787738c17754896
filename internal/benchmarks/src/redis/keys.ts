import { randomOf } from '@weir/testkit/virtual-time'

/** Numbers below `count` in random order, some of them repeated; the same in every run. */
export function randomOrder(count: number): Uint32Array {
  const { whole } = randomOf(1)
  return Uint32Array.from({ length: Math.min(2 ** 18, 8 * count) }, () => whole(0, count - 1))
}
