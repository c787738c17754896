// OpenTelemetry: both major lines of the SDK, in memory and over OTLP to a server of this test.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context, type Meter, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPMetricExporter as Exporter2 } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as Exporter1 } from '@opentelemetry/exporter-metrics-otlp-http-1'
import * as sdk2 from '@opentelemetry/sdk-metrics'
import * as sdk1 from '@opentelemetry/sdk-metrics-1'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { fixedWindow, RateLimiter } from '@weir/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collector } from '../src/index.js'
import { noteOnSpan, observe } from '../src/otel.js'
import { busyLimiters } from './limiters.js'

const lines = [
  ['1.x', sdk1 as unknown as typeof sdk2, Exporter1 as unknown as typeof Exporter2],
  ['2.x', sdk2, Exporter2],
] as const

describe.each(lines)('SDK %s', (line, sdk, Exporter) => {
  /** Long, so that it exports only on demand. */
  const exportIntervalMillis = 3_600_000
  const name = `otel-${line.replace('.', '-')}`

  test('the in-memory exporter gets what was counted', async () => {
    const temporality = sdk.AggregationTemporality.CUMULATIVE
    const exporter = new sdk.InMemoryMetricExporter(temporality)
    const reader = new sdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis })
    const provider = new sdk.MeterProvider({ readers: [reader] })
    const limiters: RateLimiter[] = []
    const meter = provider.getMeter('test') as unknown as Meter
    const stop = observe(() => limiters, { meter })
    limiters.push(...(await busyLimiters(name)))
    await reader.forceFlush()
    const [metrics = []] = exporter.getMetrics().map(({ scopeMetrics }) => {
      return scopeMetrics.flatMap((scope) => scope.metrics)
    })
    for (const expected of collector(limiters)()) {
      const found = metrics.find(({ descriptor }) => descriptor.name === expected.name)
      if (expected.points.length === 0) continue
      const points = new Map(
        (found?.dataPoints ?? []).map(({ attributes, value }) => [textOf(attributes), value]),
      )
      if (expected.type === 'histogram') {
        const counts = [...points.values()].map((value) => (value as { count: number }).count)
        const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0)
        const mine = expected.points.flatMap(({ histogram }) => histogram?.counts ?? [])
        expect([expected.name, sum(counts)]).toEqual([expected.name, sum(mine)])
      } else {
        for (const { attributes, value } of expected.points) {
          const own = Object.entries(attributes).map(([key, each]) => [`weir.${key}`, each])
          const id = textOf(Object.fromEntries(own))
          expect([expected.name, id, points.get(id)]).toEqual([expected.name, id, value])
        }
      }
      expect(found?.descriptor.unit).toBe(expected.unit)
    }
    stop()
    exporter.reset()
    await limiters[0]?.consume('later')
    await limiters[1]?.wait('later')
    await reader.forceFlush()
    // A series that is no longer observed stays as it was.
    const later = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    const of = (metric: string) =>
      later.find(({ descriptor }) => descriptor.name === metric)?.dataPoints ?? []
    const decisions = of('weir.decisions').map(({ value }) => Number(value))
    expect(decisions.reduce((sum, value) => sum + value, 0)).toBe(15)
    const waits = of('weir.wait.duration').map(({ value }) => (value as { count: number }).count)
    expect(waits).toEqual([1])
    await provider.shutdown()
  })

  test('the OTLP exporter sends it to a server', async () => {
    const bodies: Buffer[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      bodies.push(Buffer.concat(chunks))
      response.setHeader('Content-Type', 'application/json').end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`
    const exporter = new Exporter({ url, timeoutMillis: 60_000 })
    const reader = new sdk.PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis,
      exportTimeoutMillis: 60_000,
    })
    const provider = new sdk.MeterProvider({ readers: [reader] })
    const meter = provider.getMeter('test') as unknown as Meter
    const stop = observe(await busyLimiters(`${name}-otlp`), { meter })
    await reader.forceFlush()
    expect(bodies).toHaveLength(1)
    const { resourceMetrics } = JSON.parse(String(bodies[0])) as Otlp
    const metrics = resourceMetrics.flatMap((resource) =>
      resource.scopeMetrics.flatMap((scope) => scope.metrics),
    )
    const decisions = metrics.find((metric) => metric.name === 'weir.decisions')?.sum?.dataPoints
    const total = decisions?.reduce(
      (sum, { asDouble, asInt }) => sum + Number(asDouble ?? asInt),
      0,
    )
    expect(total).toBe(15)
    stop()
    await provider.shutdown()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
})

interface Otlp {
  readonly resourceMetrics: {
    readonly scopeMetrics: {
      readonly metrics: {
        readonly name: string
        readonly sum?: { readonly dataPoints: { asDouble?: number; asInt?: string | number }[] }
      }[]
    }[]
  }[]
}

function textOf(attributes: object): string {
  return JSON.stringify(
    Object.entries(attributes)
      .map(([key, value]) => `${key}=${value}`)
      .sort(),
  )
}

describe('the active span', () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = provider.getTracer('test')
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => {
    context.disable()
  })

  test('gets denials, of the denied request, and nothing else', async () => {
    const limiter = new RateLimiter({
      name: 'spans',
      policy: fixedWindow({ name: 'two', limit: 2, window: '1h' }),
      onDecision: noteOnSpan,
    })
    const ask = async (name: string) => {
      const span = tracer.startSpan(name)
      await context.with(trace.setSpan(context.active(), span), () => limiter.consume('a'))
      span.end()
    }
    for (const name of ['one', 'two', 'three']) await ask(name)
    limiter.enabled = false
    await ask('off')
    const spans = exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes])
    const of = { 'weir.limiter': 'spans' }
    expect(spans).toEqual([
      ['one', {}],
      ['two', {}],
      [
        'three',
        {
          ...of,
          'weir.policy': 'two',
          'weir.outcome': 'denied',
          'weir.degraded': false,
          'weir.retry_after': expect.any(Number),
        },
      ],
      [
        'off',
        { ...of, 'weir.policy': 'disabled', 'weir.outcome': 'allowed', 'weir.degraded': true },
      ],
    ])
  })

  test('is not required', async () => {
    const limiter = new RateLimiter({
      name: 'no-span',
      policy: fixedWindow({ limit: 0, window: '1h' }),
      onDecision: noteOnSpan,
    })
    expect((await limiter.consume('a')).allowed).toBe(false)
  })
})
