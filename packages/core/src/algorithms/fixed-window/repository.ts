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
      cards: [
        {
          title: 'Fixed window',
          says: 'Begins with a key’s first request. All comes back when the window ends.',
          options: ({ limit, window }) => ({ limit, window }),
        },
        {
          title: 'Fixed window, aligned',
          says: 'Windows of the clock, marked below. All comes back at each edge.',
          options: ({ limit, window }) => ({ limit, window, aligned: true }),
          isOnClock: true,
        },
      ],
      forms: {
        'aligned-window': { window: '1h', aligned: true },
        'calendar-window': { window: 'month', timeZone: 'America/New_York' },
      },
    },
  },
}
