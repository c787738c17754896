import type { AlgorithmInRepository, Promised } from '../repository.js'

const promise: Promised = {
  passes: 'L (the capacity) + rate × t in any time t',
  example: 'at 100 a minute, in a minute',
  terms: (limit) => `${limit} + ${limit} - 1`,
  exact:
    'whole eighths of a microsecond; the rate is too low by less than 1 part in 8 × (microseconds ' +
    'per unit). A rate that this would change by over 1 % is refused',
}

export const repository: AlgorithmInRepository = {
  policies: {
    tokenBucket: {
      promise,
      picture: { capacity: 10, refill: 10, every: '1m' },
      cards: [
        {
          title: 'Token bucket',
          says: 'Holds one burst, and fills up steadily by the limit in each window. So do gcra and leakyBucket, in other words.',
          options: ({ limit, window, burst }) => ({
            capacity: burst,
            refill: limit,
            every: window,
          }),
        },
      ],
    },
    gcra: {
      promise,
      picture: { limit: 10, period: '1m', burst: 2 },
    },
    leakyBucket: {
      promise,
      picture: { capacity: 5, leak: 10, every: '1m' },
    },
  },
}
