// What Weir does when a response has ended, where no server sends it.

import { concurrency, fixedWindow, leakyBucket } from '@weir/express'
import { describe, expect, test, vi } from 'vitest'
import { deaf, type Limit, platforms, startMocked } from './platforms.js'

const two = fixedWindow({ limit: 2, window: '1h' })
const four = fixedWindow({ limit: 4, window: '1h' })
const slot = concurrency({ name: 'open', limit: 1, holdTimeout: '1h' })
const queue = leakyBucket({ capacity: 1, leak: 1, every: '20ms' })

/** As docs/migrating.md translates them. */
const skipFailed: Limit['refundWhen'] = (_req, { status, finished }) => !finished || status >= 400
const skipSuccessful: Limit['refundWhen'] = (_req, { status, finished }) => finished && status < 400

const rows: [what: string, Omit<Limit, 'name'>, answered: number, seen: number[]][] = [
  [
    'skipFailedRequests counts successes',
    { policy: two, refundWhen: skipFailed },
    200,
    [200, 200, 429, 429],
  ],
  [
    'skipFailedRequests gives failures back',
    { policy: two, refundWhen: skipFailed },
    500,
    [500, 500, 500, 500],
  ],
  [
    'skipSuccessfulRequests counts failures',
    { policy: two, refundWhen: skipSuccessful },
    401,
    [401, 401, 429, 429],
  ],
  [
    'skipSuccessfulRequests gives successes back',
    { policy: two, refundWhen: skipSuccessful },
    200,
    [200, 200, 200, 200],
  ],
  [
    'settle corrects the cost',
    { policy: four, cost: 2, settle: (_req, { finished }) => (finished ? 1 : 2) },
    200,
    [200, 200, 200, 429],
  ],
  ['a slot is free again', { policy: slot }, 200, [200, 200, 200, 200]],
  [
    'a request that waits has not been left',
    { policy: queue, wait: '3600s' },
    200,
    [200, 200, 200, 200],
  ],
]

describe.each(platforms)('$name', ({ name, start }) => {
  test.each(rows)('%s', async (what, limit, answered, seen) => {
    const app = await start({
      name: `${name}: ${what}`.replace(/\W+/g, '-').slice(0, 64),
      ...limit,
    })
    const asked: number[] = []
    for (const _ of seen) asked.push(await app.ask(answered))
    expect(asked).toEqual(seen)
    expect(app.inFlight).toBe(0)
    expect(app.recorded).toEqual(seen.map((status) => (status >= 500 ? 'failed' : 'answered')))
  })
})

describe('node-mocks-http without events', () => {
  test.each<[what: string, Omit<Limit, 'name'>, seen: number[], warned: string]>([
    ['holds no slot', { policy: slot }, [200, 200, 200], 'releases slots at once'],
    [
      'stays charged',
      { policy: two, refundWhen: skipFailed },
      [200, 200, 429],
      'corrects no charge',
    ],
    [
      'is not settled',
      { policy: four, cost: 2, settle: () => 0 },
      [200, 200, 429],
      'corrects no charge',
    ],
  ])('a request %s, and a warning says so', async (what, limit, seen, warned) => {
    const warnings: string[] = []
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation(((text: string) => {
      warnings.push(text)
    }) as typeof process.emitWarning)
    const name = what.replaceAll(' ', '-')
    const app = await startMocked({ name, ...limit }, deaf)
    const asked: number[] = []
    for (const _ of seen) asked.push(await app.ask(200))
    spy.mockRestore()
    expect(asked).toEqual(seen)
    expect([app.inFlight, app.recorded]).toEqual([0, []])
    expect(warnings.filter((text) => text.includes(name))).toEqual([
      expect.stringContaining(`limiter "${name}" ${warned}, since it cannot see when`),
    ])
  })
})
