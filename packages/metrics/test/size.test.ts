// The number of series, and how long a scrape blocks the application, with hundreds of limiters.

import type { Meter } from '@opentelemetry/api'
import * as sdk from '@opentelemetry/sdk-metrics'
import { fixedWindow, memoryStore, RateLimiter, slidingWindow } from '@weir/core'
import { resilient } from '@weir/core/store'
import * as promClient from 'prom-client'
import { describe, expect, test } from 'vitest'
import { observe } from '../src/otel.js'
import { prometheus, type WatchedLimiter } from '../src/prometheus.js'
import { inTurns, POINTS_OF_TURN } from '../src/slices.js'
import { seriesOf } from './limiters.js'

const policy = fixedWindow({ name: 'few', limit: 1, window: '1h' })

/** What one export of these limiters has. */
async function exported(limiters: readonly WatchedLimiter[], views: sdk.ViewOptions[] = []) {
  const exporter = new sdk.InMemoryMetricExporter(sdk.AggregationTemporality.CUMULATIVE)
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 3_600_000,
  })
  const provider = new sdk.MeterProvider({ readers: [reader], views })
  const stop = observe(limiters, { meter: provider.getMeter('test') as unknown as Meter })
  await reader.forceFlush()
  const metrics = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  stop()
  await provider.shutdown()
  return metrics
}

async function idsOf(limiters: Iterable<WatchedLimiter>): Promise<string[]> {
  return [...seriesOf((await prometheus([...limiters]).scrape()).body).keys()]
}

describe('the number of series depends on what can happen', () => {
  const ofLimiter = async (limiter: RateLimiter) =>
    (await idsOf([limiter]))
      .filter((id) => id.includes(`limiter="${limiter.name}"`))
      .map((id) => id.replace(/^weir_|limiter="[^"]*",?|,?enforced="false"/g, ''))
      .sort()

  const usual = [
    'decisions_total{outcome="allowed",source="store",degraded="false"}',
    'decisions_total{outcome="denied",source="store",degraded="false"}',
    'denials_total{policy="few",reason="limit",enforced="true"}',
    'limiter_enabled{}',
    'limiter_shadow{}',
    'near_limit_total{policy="few"}',
    'policy_info{policy="few",algorithm="fixed-window",window_ms="3600000"}',
    'policy_limit{policy="few"}',
    'units_total{policy="few",kind="denied"}',
    'units_total{policy="few",kind="taken"}',
  ]

  test('in memory: ten, before the first request and afterwards', async () => {
    const limiter = new RateLimiter({ name: 'size-memory', store: memoryStore(), policy })
    expect(await ofLimiter(limiter)).toEqual(usual)
    for (let i = 0; i < 3; i += 1) await limiter.consume('a')
    expect(await ofLimiter(limiter)).toEqual(usual)
  })

  test('on a store that asks a server: four more, for local decisions', async () => {
    const store = resilient(memoryStore(), { instances: 1 })
    expect(await ofLimiter(new RateLimiter({ name: 'size-server', store, policy }))).toEqual([
      usual[0]?.replace('store', 'local').replace('false', 'true'),
      usual[0],
      'decisions_total{outcome="denied",source="cache",degraded="false"}',
      usual[1]?.replace('store', 'local').replace('false', 'true'),
      usual[1],
      'decisions_total{outcome="error",source="none",degraded="true"}',
      ...usual.slice(2),
    ])
  })

  test('for a wait, a refund, a penalty, a switch: once it has happened', async () => {
    const limiter = new RateLimiter({ name: 'size-rare', store: memoryStore(), policy })
    const decision = await limiter.consume('a')
    await limiter.refund(decision)
    await limiter.penalty('b', { cost: 1 })
    await limiter.wait('c')
    await limiter.consume('d', { cost: 2 })
    limiter.enabled = false
    await limiter.consume('a')
    const series = await ofLimiter(limiter)
    expect(series).toEqual(
      expect.arrayContaining([
        'units_total{policy="few",kind="refunded"}',
        'units_total{policy="few",kind="penalty"}',
        'denials_total{policy="few",reason="cost-exceeds-limit",enforced="true"}',
        'decisions_total{outcome="allowed",source="none",degraded="true"}',
        'waiting{}',
        'wait_duration_seconds_count{}',
      ]),
    )
    // No series disappears.
    expect(await ofLimiter(limiter)).toEqual(series)
  })
})

describe('the number of series is bounded', () => {
  const made = (count: number, name: (i: number) => string) => {
    const store = memoryStore()
    return Array.from(
      { length: count },
      (_, i) => new RateLimiter({ name: name(i), store, policy }),
    )
  }

  test('2,000 limiters are distinguished, the others are summed', async () => {
    const limiters = made(2_010, (i) => `bound-${i}`)
    for (const limiter of limiters.slice(1_995)) await limiter.consume('a')
    const metrics = prometheus(limiters)
    await metrics.scrape()
    const series = seriesOf((await metrics.scrape()).body)
    const allowed = (limiter: string) =>
      series.get(
        `weir_decisions_total{limiter="${limiter}",outcome="allowed",source="store",degraded="false"}`,
      )
    expect(allowed('bound-1999')).toBe(1)
    expect(allowed('bound-2000')).toBeUndefined()
    expect(allowed('_other')).toBe(10)
    expect(series.has('weir_policy_limit{limiter="_other",policy="_other"}')).toBe(false)
    expect(series.size).toBeLessThan(2_001 * 11)
  })

  test('4,000 policies are distinguished, and none is missing in the sums', async () => {
    const store = memoryStore()
    const limiters = Array.from({ length: 25 }, (_, i) => {
      const of = (key: string) => slidingWindow({ name: `plan-${key}`, limit: 1, window: '1h' })
      return new RateLimiter({ name: `plans-${i}`, store, policy: of })
    })
    for (const limiter of limiters) for (let i = 0; i < 190; i += 1) await limiter.consume(`${i}`)
    const series = seriesOf((await prometheus(limiters).scrape()).body)
    const taken = [...series].filter(([id]) => /^weir_units_total.*kind="taken"/.test(id))
    expect(taken.length).toBe(4_000 + 4)
    expect(taken.reduce((sum, [, value]) => sum + value, 0)).toBe(25 * 190)
  })
})

describe('a scrape of 600 limiters leaves the application its turns', () => {
  /** The work of each turn of the event loop, while a scrape takes several. */
  function watched(count: number) {
    const store = memoryStore()
    const turns: number[] = []
    let inTurn = 0
    const limiters = Array.from({ length: count }, (_, i): WatchedLimiter => {
      const limiter = new RateLimiter({ name: `slice-${i}`, store, policy })
      return {
        store,
        stats() {
          if (inTurn === 0)
            setImmediate(() => {
              turns.push(inTurn)
              inTurn = 0
            })
          inTurn += 1
          return limiter.stats()
        },
      }
    })
    return { limiters, turns }
  }
  const LIMITERS_OF_TURN = Math.ceil(POINTS_OF_TURN / 15)

  test('the endpoint', async () => {
    const { limiters, turns } = watched(600)
    await prometheus(limiters).scrape()
    await new Promise(setImmediate)
    expect(Math.max(...turns)).toBeLessThanOrEqual(LIMITERS_OF_TURN)
    expect(turns.reduce((sum, each) => sum + each, 0)).toBe(600)
  })

  test('a registry, which asks 30 times and has one answer', async () => {
    const { limiters, turns } = watched(600)
    const registry = new promClient.Registry()
    prometheus(limiters).register(registry)
    await registry.metrics()
    await new Promise(setImmediate)
    expect(Math.max(...turns)).toBeLessThanOrEqual(LIMITERS_OF_TURN)
    expect(turns.reduce((sum, each) => sum + each, 0)).toBe(600)
  })

  test('OpenTelemetry', async () => {
    const { limiters, turns } = watched(600)
    await exported(limiters)
    expect(Math.max(...turns)).toBeLessThanOrEqual(LIMITERS_OF_TURN)
  })

  test('text is also written in turns', async () => {
    let turns = 0
    const work = (function* () {
      for (let i = 0; i < 10; i += 1) {
        setImmediate(() => {
          turns += 1
        })
        yield POINTS_OF_TURN / 2
      }
      return 'done'
    })()
    expect(await inTurns(work)).toBe('done')
    expect(turns).toBe(10)
  })
})

describe("OpenTelemetry's limit of 2,000 attribute sets of a metric", () => {
  async function overflowing(count: number, views?: sdk.ViewOptions[]) {
    const store = resilient(memoryStore(), { instances: 1 })
    const limiters = Array.from(
      { length: count },
      (_, i) => new RateLimiter({ name: `otel-${i}`, store, policy }),
    )
    return (await exported(limiters, views))
      .filter(({ dataPoints }) =>
        dataPoints.some(({ attributes }) => attributes['otel.metric.overflow']),
      )
      .map(({ descriptor }) => descriptor.name)
  }

  test('is not reached by 330 limiters on a server', async () => {
    expect(await overflowing(330)).toEqual([])
  })

  test('is raised by a view', async () => {
    expect(await overflowing(340)).toEqual(['weir.decisions'])
    const view = { instrumentName: 'weir.*', aggregationCardinalityLimit: 20_000 }
    expect(await overflowing(340, [view])).toEqual([])
  })
})
