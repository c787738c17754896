import type { AlgorithmInRepository } from '../repository.js'

export const repository: AlgorithmInRepository = {
  policies: {
    fixedWindow: {
      promise: {
        passes: 'L in each of its windows; 2 × L in a time of that length around an edge',
        terms: (limit) => `2 × ${limit}`,
        exact: 'whole ms',
      },
      picture: { limit: 10, window: '1m' },
      forms: {
        'aligned-window': { window: '1h', aligned: true },
        'calendar-window': { window: 'month', timeZone: 'America/New_York' },
      },
    },
  },
}
