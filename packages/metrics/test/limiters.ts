// Limiters with some of everything in their statistics.

import { fixedWindow, memoryStore, RateLimiter, tokenBucket } from '@weir/core'
import { adaptive } from '@weir/core/adaptive'
import { resilient } from '@weir/core/store'

/** @param name the name of the test, so that each has separate limiters */
export async function busyLimiters(name: string): Promise<RateLimiter[]> {
  const search = new RateLimiter({
    name: `${name}-search`,
    store: resilient(memoryStore(), { instances: 3, deadlineMs: 60_000 }),
    policy: [
      tokenBucket({ name: 'burst', capacity: 4, refill: 1, every: '1h' }),
      fixedWindow({ name: 'daily', limit: 100, window: '1d' }),
    ],
  })
  for (let i = 0; i < 6; i += 1) await search.consume('u1')
  const login = new RateLimiter({
    name: `${name}-login`,
    policy: fixedWindow({ limit: 5, window: '1h' }),
  })
  for (let i = 0; i < 3; i += 1) await login.consume(`u${i}`)
  await login.wait('u1')
  const jobs = new RateLimiter({
    name: `${name}-jobs`,
    policy: fixedWindow({ limit: 4, window: '1h' }),
    reserve: { batch: 0.5 },
  })
  for (let i = 0; i < 3; i += 1) await jobs.consume('all', { priority: 'batch' })
  await jobs.consume('all', { priority: 'critical' })
  const adapted = new RateLimiter({
    name: `${name}-adapted`,
    policy: adaptive(fixedWindow({ limit: 40, window: '1h' }), { warmUp: '1h', min: 0.25 }),
  })
  await adapted.consume('all')
  return [search, login, jobs, adapted]
}

/** The series in a text for Prometheus. */
export function seriesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}
