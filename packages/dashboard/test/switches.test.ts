// Limiters that are switched off: all processes follow, in the order of the actions.

import {
  fixedWindow,
  memoryStore,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type WatchableSettings, watchable } from '../src/collect/settings.js'
import { Switches } from '../src/collect/switches.js'
import { type Dashboard, type DashboardOptions, dashboard } from '../src/index.js'
import { processTime } from '../src/time.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const policy = fixedWindow({ name: 'calls', limit: 9, window: '1m' })

function made(options: DashboardOptions): Dashboard {
  const page = dashboard({ authorize: () => true, actions: true, ...options })
  onTestFinished(() => page.close())
  return page
}

async function acted(page: Dashboard, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  return (await page.fetch(new Request('http://localhost/actions', init))).json()
}

test('a switch applies even after the clock of the store has stepped back', async () => {
  let nowUs = Date.now() * 1_000
  const client = new Redis(server.port, '127.0.0.1', recommendedRedisOptions)
  const store = redisStore(client, { clock: { nowUs: () => nowUs } })
  onTestFinished(async () => {
    await store.close()
    await client.quit()
  })
  const settings = watchable(store.settings) as WatchableSettings
  const seen: unknown[] = []
  const following = (apply: (limiter: string, isOn: boolean) => void): Switches => {
    return new Switches({ settings, time: processTime, bornMs: processTime.steadyMs(), apply })
  }
  const here = following(() => {})
  const elsewhere = following((...all) => void seen.push(all))
  await elsewhere.read()
  nowUs += 1_000_000
  await here.write('api', false)
  await elsewhere.read()
  nowUs -= 60_000_000
  await here.write('api', true)
  await here.write('jobs', false)
  await elsewhere.read()
  await elsewhere.read()
  expect(seen).toEqual([
    ['api', false],
    ['api', true],
    ['jobs', false],
  ])
})

test('limiters that share a name and a store are switched together, at once', async () => {
  const store = memoryStore()
  const [one, two] = ['one', 'two'].map(() => {
    return new RateLimiter({ name: 'api', store, policy, shared: true })
  }) as [RateLimiter, RateLimiter]
  const other = new RateLimiter({ name: 'api', policy })
  const page = made({ limiters: [one, two, other] })
  await acted(page, { kind: 'disable', limiter: 'api#2', confirm: 'api#2' })
  expect([one.enabled, two.enabled, other.enabled]).toEqual([false, false, true])
})
