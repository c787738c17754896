// Behaviours that both express-rate-limit and hono-rate-limiter document.

import { type Behaviour, times } from './incumbent.js'

/** How their functions read a request. */
interface Reads<Request, Answer> {
  readonly userOf: (request: Request) => string | undefined
  readonly statusOf: (request: Request, answer: Answer) => number
  readonly usedOf: (request: Request) => number | undefined
}

export function alike<Request, Answer>(reads: Reads<Request, Answer>): Behaviour[] {
  const { userOf, statusOf, usedOf } = reads
  return [...limits(userOf), ...headers, ...skipped(userOf, statusOf), ...refusals(usedOf)]
}

function limits<Request>(userOf: (request: Request) => string | undefined): Behaviour[] {
  return [
    {
      promise: '`limit` may be a function of the request',
      options: { limit: (request: Request) => (userOf(request) === 'pro' ? 4 : 2) },
      factory: { limit: 100 },
      asks: [...times(3), ...times(5, { user: 'pro' })],
      seen: '200 x2, 429, 200 x4, 429',
    },
  ]
}

const headers: readonly Behaviour[] = [
  {
    promise: "`standardHeaders: 'draft-6'`",
    options: { standardHeaders: 'draft-6' },
    look: ['ratelimit-policy', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
    asks: [{}],
    seen: '200 3;w=60 3 2 60',
  },
  {
    promise: "`standardHeaders: 'draft-7'`, and `Retry-After` of refusals",
    options: { standardHeaders: 'draft-7', limit: 1 },
    look: ['ratelimit-policy', 'ratelimit', 'retry-after'],
    asks: times(2),
    seen: [
      '200 1;w=60 limit=1, remaining=0, reset=60 none',
      '429 1;w=60 limit=1, remaining=0, reset=60 60',
    ].join(', '),
  },
]

function skipped<Request, Answer>(
  userOf: Reads<Request, Answer>['userOf'],
  statusOf: Reads<Request, Answer>['statusOf'],
): Behaviour[] {
  const wasMissing = (request: Request, answer: Answer): boolean =>
    statusOf(request, answer) === 404
  return [
    {
      promise: '`skip`: requests that it is true for are not counted',
      options: { skip: (request: Request) => userOf(request) === 'free' },
      asks: [...times(5, { user: 'free' }), ...times(4)],
      seen: '200 x8, 429',
    },
    {
      promise: '`skipFailedRequests`: requests that are answered with 400 and above do not count',
      options: { skipFailedRequests: true },
      asks: [...times(6, { status: 500 }), ...times(40)],
      seen: '500 x6, 200 x3, 429 x37',
    },
    {
      promise: '`skipSuccessfulRequests`: requests that are answered below 400 do not count',
      options: { skipSuccessfulRequests: true },
      asks: [...times(6), ...times(4, { status: 404 })],
      seen: '200 x6, 404 x3, 429',
    },
    {
      promise: '`requestWasSuccessful` tells them apart',
      options: { skipSuccessfulRequests: true, requestWasSuccessful: wasMissing },
      asks: [...times(6, { status: 404 }), ...times(4)],
      seen: '404 x6, 200 x3, 429',
    },
    {
      promise: 'both at once: nothing counts, and nothing is refused',
      options: { skipSuccessfulRequests: true, skipFailedRequests: true, limit: 1 },
      asks: [...times(3), ...times(3, { status: 500 })],
      seen: '200 x3, 500 x3',
    },
  ]
}

function refusals<Request>(usedOf: (request: Request) => number | undefined): Behaviour[] {
  return [
    {
      promise: '`statusCode` and `message` of refusals',
      options: { limit: 1, statusCode: 503, message: 'slow down' },
      look: ['body'],
      asks: times(2),
      seen: '200 1 used, 503 slow down',
    },
    {
      promise: '`used` counts refused requests',
      options: { limit: 1, message: (request: Request) => `${usedOf(request)} used` },
      look: ['body'],
      asks: times(3),
      seen: '200 1 used, 429 2 used, 429 3 used',
      differs: { weir: 'it is at most one more than the limit' },
    },
    {
      promise: '`getKey` and `resetKey` read and clear a key',
      asks: [...times(2), { act: 'getKey' }, ...times(2), { act: 'resetKey' }, {}],
      seen: '200 x2, 2 counted, 200, 429, done, 200',
    },
  ]
}
