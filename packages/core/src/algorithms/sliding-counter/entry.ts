import type { AlgorithmEntry } from '../entry.js'
import { slidingCounter as kernel } from './kernel.js'
import { slidingCounter as create } from './sliding-counter.js'

export const slidingCounter: AlgorithmEntry = {
  kernel,
  factories: { slidingCounter: { create, of: (limit, window) => create({ limit, window }) } },
  examples: [
    {
      label: 'sliding counter',
      limit: 9,
      make: (limit, times = 1) => create({ name: 'counter', limit, window: times * 10_000 }),
    },
  ],
}
