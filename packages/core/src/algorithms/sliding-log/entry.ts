import type { AlgorithmEntry } from '../entry.js'
import { slidingLog as kernel } from './kernel.js'
import { slidingLog as createLog } from './sliding-log.js'
import { slidingWindow as createWindow } from './sliding-window.js'

export const slidingLog: AlgorithmEntry = {
  kernel,
  factories: {
    slidingWindow: {
      create: createWindow,
      of: (limit, window) => createWindow({ limit, window }),
    },
    slidingLog: { create: createLog, of: (limit, window) => createLog({ limit, window }) },
  },
  examples: [
    {
      label: 'exact log',
      limit: 7,
      make: (limit, times = 1) => createLog({ name: 'log', limit, window: times * 10_000 }),
    },
    {
      label: 'sliding window of 10 parts',
      limit: 30,
      make: (limit, times = 1) =>
        createWindow({ name: 'log', limit, window: times * 7_000, parts: 10 }),
    },
  ],
}
