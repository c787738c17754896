import type { AlgorithmInRepository } from '../repository.js'

export const repository: AlgorithmInRepository = {
  policies: {
    slidingCounter: {
      promise: {
        passes: 'L if requests are spread evenly; less than 2 × L if they are timed to its windows',
        terms: (limit) => `2 × ${limit} - 1`,
        exact: 'an estimate by design',
      },
      picture: { limit: 10, window: '1m' },
      cards: [
        {
          title: 'Sliding counter',
          says: 'Two counts on the clock’s windows, the older one weighted: an estimate, and small.',
          options: ({ limit, window }) => ({ limit, window }),
          isOnClock: true,
        },
      ],
    },
  },
}
