import type { AlgorithmEntry } from '../entry.js'
import { fixedWindow as create } from './fixed-window.js'
import { fixedWindow as kernel } from './kernel.js'

export const fixedWindow: AlgorithmEntry = {
  kernel,
  factories: { fixedWindow: { create, of: (limit, window) => create({ limit, window }) } },
  examples: [
    {
      label: 'fixed window from the first request',
      limit: 7,
      make: (limit, times = 1) => create({ name: 'fixed', limit, window: times * 10_000 }),
    },
    {
      label: 'fixed window, aligned',
      limit: 7,
      make: (limit, times = 1) =>
        create({ name: 'fixed', limit, window: times * 420_000, aligned: true }),
    },
  ],
}
