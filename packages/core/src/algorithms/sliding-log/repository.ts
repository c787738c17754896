import type { AlgorithmInRepository } from '../repository.js'

export const repository: AlgorithmInRepository = {
  policies: {
    slidingWindow: {
      promise: {
        passes: 'L in any window',
        terms: String,
        exact:
          'strict: units taken in one part (1/60 of the window by default) come back together, a ' +
          'window after its end, so at least 60/61 of the limit can be used; exact where the limit ' +
          'is at most parts + 1',
      },
      picture: { limit: 10, window: '1m' },
      cards: [
        {
          title: 'Sliding window',
          says: 'The default. Strict; above a limit of 61, what was taken comes back by sixtieths of the window.',
          options: ({ limit, window }) => ({ limit, window }),
        },
      ],
    },
    slidingLog: {
      promise: { passes: 'L in any window', terms: String, exact: 'whole ms' },
      picture: { limit: 10, window: '1m' },
      cards: [
        {
          title: 'Sliding log',
          says: 'Exact to the millisecond: each unit comes back one window after it was taken.',
          options: ({ limit, window }) => ({ limit, window }),
        },
      ],
    },
  },
}
