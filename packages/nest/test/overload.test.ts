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
