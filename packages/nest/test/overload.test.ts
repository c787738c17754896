// Overload protection in front of a Nest application.

import { Controller, Get } from '@nestjs/common'
import { responses } from '@weir/core/adaptive'
import { overload, recordResponses } from '@weir/nest'
import { expect, test, vi } from 'vitest'
import { start } from './app.js'

test('it refuses requests beyond its limit', async () => {
  const guard = overload()
  const signal = responses({ latency: '1h' })
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  @Controller()
  class Held {
    @Get()
    async held(): Promise<string> {
      await answered
      return 'done'
    }
  }
  const { url } = await start(
    { controllers: [Held] },
    { prepare: (app) => void app.use(guard).use(recordResponses(signal)) },
  )
  const others = Array.from({ length: guard.limit }, () => fetch(url))
  await vi.waitFor(() => expect(guard.inFlight).toBe(guard.limit))
  const refused = await fetch(url)
  expect([refused.status, guard.refused]).toEqual([503, 1])
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(await refused.json()).toMatchObject({ status: 503 })
  answer()
  const statuses = await Promise.all(others.map(async (other) => (await other).status))
  expect(statuses).toEqual(Array(guard.limit).fill(200))
  await vi.waitFor(() => expect(guard.inFlight).toBe(0))
  expect(signal()).toBeGreaterThanOrEqual(0)
})

test('a class leaves its part of the limit to those above, and an error that priority throws is an error of the request', async () => {
  const guard = overload({
    reserve: { free: 0.5, none: 1 },
    priority: ({ headers }) => {
      if (headers['x-plan'] === 'broken') throw new Error('no plan')
      return headers['x-plan'] === 'paying' ? 'critical' : 'none'
    },
  })
  @Controller()
  class Plain {
    @Get()
    get(): string {
      return 'done'
    }
  }
  const { get } = await start({ controllers: [Plain] }, { prepare: (app) => void app.use(guard) })
  const statusOf = async (plan: string) => (await get('/', { 'x-plan': plan })).status
  expect(await statusOf('free')).toBe(503)
  expect(await statusOf('paying')).toBe(200)
  expect(await statusOf('broken')).toBe(500)
  expect(guard.priorities).toContainEqual({ priority: 'none', admitted: 0, refused: 1 })
})
