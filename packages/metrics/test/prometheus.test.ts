// What Prometheus gets: the text, and the registries of both client libraries.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import * as successor from '@prometheus-io/client'
import { concurrency, fixedWindow, lockout, memoryStore, RateLimiter, type Store } from '@weir/core'
import { type LivePolicies, livePolicies } from '@weir/core/live'
import { resilient } from '@weir/core/store'
import { rateLimit as expressLimit, overload } from '@weir/express'
import { rateLimit as koaLimit, overload as koaOverload } from '@weir/koa'
import express from 'express'
import Koa from 'koa'
import * as promClient from 'prom-client'
import { describe, expect, test } from 'vitest'
import { collector } from '../src/index.js'
import { prometheus, type WatchedLimiter } from '../src/prometheus.js'
import { OPEN_METRICS, TEXT } from '../src/text.js'
import { busyLimiters, seriesOf } from './limiters.js'

const policy = fixedWindow({ limit: 5, window: '1h' })

async function serving<Result>(
  listener: Parameters<typeof createServer>[1],
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const server = createServer(listener as never)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('the text', () => {
  test('has what was counted, to the unit', async () => {
    const series = seriesOf((await prometheus(await busyLimiters('text')).scrape()).body)
    const decisions = (limiter: string, outcome: string) =>
      series.get(
        `weir_decisions_total{limiter="${limiter}",outcome="${outcome}",source="store",degraded="false"}`,
      )
    expect(decisions('text-search', 'allowed')).toBe(4)
    expect(decisions('text-search', 'denied')).toBe(2)
    expect(decisions('text-login', 'allowed')).toBe(4)
    const denials = 'limiter="text-search",policy="burst",reason="limit",enforced="true"'
    expect(series.get(`weir_denials_total{${denials}}`)).toBe(2)
    const classes = (of: string) =>
      series.get(`weir_priority_decisions_total{limiter="text-jobs",${of}}`)
    expect(classes('priority="batch",outcome="allowed"')).toBe(2)
    expect(classes('priority="batch",outcome="denied"')).toBe(1)
    expect(classes('priority="critical",outcome="allowed"')).toBe(1)
    expect(classes('priority="critical",outcome="error"')).toBe(0)
    const adapted = 'limiter="text-adapted",policy="fixed-window-1h"'
    expect(series.get(`weir_adaptive_factor{${adapted}}`)).toBe(0.25)
    expect(series.get(`weir_policy_limit{${adapted}}`)).toBe(10)
    expect(series.get('weir_store_instances{store="store"}')).toBe(3)
    expect(series.get('weir_store_calls_total{store="store",node="store",result="ok"}')).toBe(6)
    const duration = 'weir_store_call_duration_seconds_count{store="store",node="store"}'
    expect(series.get(duration)).toBe(6)
    expect(series.get('weir_wait_duration_seconds_count{limiter="text-login"}')).toBe(1)
    expect(series.get('weir_memory_keys{store="memory"}')).toBe(3)
    expect(series.get('weir_policy_limit{limiter="text-search",policy="burst"}')).toBe(4)
  })

  test('has the blocks of a lock-out by level, and none of other policies', async () => {
    const guesses = {
      name: 'guesses',
      limit: 2,
      window: '1h',
      block: ['1h'],
      forget: '1d',
    } as const
    const limiter = new RateLimiter({ name: 'blocks', policy: [lockout(guesses), policy] })
    await limiter.consume('k')
    const shown = async () =>
      (await prometheus([limiter]).scrape()).body
        .split('\n')
        .filter((line) => line.startsWith('weir_blocks_total'))
    const of = 'weir_blocks_total{limiter="blocks",policy="guesses",level="1"}'
    expect(await shown()).toEqual([`${of} 0`])
    await limiter.consume('k')
    expect(await shown()).toEqual([`${of} 1`])
  })

  test('has the slots of a concurrency that are held here, and none of other policies', async () => {
    const slots = concurrency({ name: 'streams', limit: 3, holdTimeout: '1m' })
    const limiter = new RateLimiter({ name: 'slots', policy: [slots, policy] })
    const held = await limiter.acquire('k')
    const shown = async () =>
      (await prometheus([limiter]).scrape()).body
        .split('\n')
        .filter((line) => line.startsWith('weir_slots'))
    const of = '{limiter="slots",policy="streams"}'
    expect(await shown()).toEqual([`weir_slots_held${of} 1`, `weir_slots_expired_total${of} 0`])
    await held.release()
    expect(await shown()).toEqual([`weir_slots_held${of} 0`, `weir_slots_expired_total${of} 0`])
  })

  test('contains no key', async () => {
    const key = 'somebody@example.org'
    const limiter = new RateLimiter({ name: 'private', policy })
    for (let i = 0; i < 9; i += 1) await limiter.consume(key)
    expect((await prometheus([limiter]).scrape()).body).not.toContain('somebody')
  })

  test('has no series twice: two limiters with the same name are one, and each limiter is read once', async () => {
    const store = memoryStore()
    const [one, two] = [true, true].map(
      (shared) => new RateLimiter({ name: 'twice', store, shared, policy }),
    ) as [RateLimiter, RateLimiter]
    await one.consume('a')
    await two.consume('a')
    two.enabled = false
    const { body } = await prometheus([one, two, one, { limiter: two }]).scrape()
    const lines = body.split('\n').filter((line) => !line.startsWith('#') && line !== '')
    const names = lines.map((line) => line.slice(0, line.lastIndexOf(' ')))
    expect(new Set(names).size).toBe(names.length)
    const series = seriesOf(body)
    const of = 'limiter="twice",outcome="allowed",source="store",degraded="false"'
    expect(series.get(`weir_decisions_total{${of}}`)).toBe(2)
    expect(series.get('weir_limiter_enabled{limiter="twice"}')).toBe(0)
  })

  test.each([
    [undefined, TEXT],
    ['*/*', TEXT],
    ['text/plain', TEXT],
    ['application/openmetrics-text', OPEN_METRICS],
    ['application/openmetrics-text; version=0.0.1', TEXT],
    [
      'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      OPEN_METRICS,
    ],
    ['text/plain;q=0.9, application/openmetrics-text;q=0.2', TEXT],
    ['application/openmetrics-text;q=0', TEXT],
    ['application/openmetrics-text;q=nonsense', TEXT],
    [`application/openmetrics-text,${'a/b,'.repeat(10_000)}`, TEXT],
  ])('has the requested format (%s)', async (accept, expected) => {
    const { contentType, body } = await prometheus([]).scrape(accept)
    expect(contentType).toBe(expected)
    expect(body.endsWith('# EOF\n')).toBe(expected === OPEN_METRICS)
    const family = expected === OPEN_METRICS ? 'weir_decisions' : 'weir_decisions_total'
    expect(body).toContain(`# TYPE ${family} counter\n`)
  })

  test("escapes labels that a user's store sets, and writes numbers beyond 2^53", async () => {
    const store = storeSaying({ node: 'a"b\\c\nd', calls: { ok: 2 ** 60, timeout: 1e300 } })
    const { body } = await prometheus([limiterOn(store)]).scrape()
    expect(body).toContain(`node="a\\"b\\\\c\\nd",result="ok"} ${2 ** 60}\n`)
    expect(body).toContain('result="timeout"} 1e+300\n')
    expect(body).toContain('result="error"} 0\n')
  })
})

function storeSaying(node: object): Store {
  const calls = { ok: 0, timeout: 0, error: 0, notSent: 0, ...(node as { calls?: object }).calls }
  const durations = { bounds: [1], counts: [0, 0], sum: 0 }
  const all = { state: 'closed', inFlight: 0, durations, ...node, calls }
  const stats = { kind: 'own', nodes: [all], instances: 1, unreconciled: 0, events: {} }
  return { ...memoryStore(), stats: () => stats as never }
}

let limiters = 0
function limiterOn(store: Store): RateLimiter {
  limiters += 1
  return new RateLimiter({ name: `limiter-${limiters}`, store, policy })
}

describe('in addition to limiters', () => {
  const inFlight = 'weir_overload_in_flight'
  test('overload protection of Express and of Koa is shown, in sum', async () => {
    const guard = overload()
    const metrics = prometheus([limiterOn(memoryStore()), guard])
    let answer: (() => void) | undefined
    const app = express().use(guard)
    app.get('/', (_, res) => {
      answer = () => res.end()
    })
    await serving(app, async (url) => {
      const answered = fetch(url)
      while (answer === undefined) await new Promise((resolve) => setImmediate(resolve))
      expect(seriesOf((await metrics.scrape()).body).get(inFlight)).toBe(1)
      answer()
      await (await answered).text()
    })
    const both = seriesOf((await prometheus([guard, koaOverload(), guard]).scrape()).body)
    expect(both.get('weir_overload_limit')).toBe(2 * guard.limit)
    expect(both.get('weir_overload_refused_total')).toBe(0)
  })

  test('overload protection with classes is shown by class, in sum', async () => {
    const reserve = { free: 0.5 }
    const guards = [1, 2].map(() => overload({ reserve, priority: () => 'free' }))
    for (const guard of guards) {
      const app = express().use(guard)
      app.get('/', (_, res) => void res.end())
      await serving(app, async (url) => void (await (await fetch(url)).text()))
    }
    const series = seriesOf((await prometheus([...guards, overload()]).scrape()).body)
    const of = (labels: string) => series.get(`weir_overload_priority_requests_total{${labels}}`)
    expect(of('priority="free",outcome="admitted"')).toBe(2)
    expect(of('priority="free",outcome="refused"')).toBe(0)
    expect(of('priority="critical",outcome="admitted"')).toBe(0)
  })

  test('live policies are shown by the name of their settings', async () => {
    const defaults = { free: fixedWindow({ name: 'calls', limit: 9, window: '1h' }) }
    const made = ['plans', 'never-heard'].map((name) =>
      livePolicies(memoryStore(), { name, defaults }),
    ) as [LivePolicies, LivePolicies]
    const [plans, other] = made
    other.close()
    await plans.refresh()
    const status = { ...plans.status(), name: 'stale', version: 7, isCurrent: false, refused: 2 }
    const stale = { status: () => status, history: () => [] }
    const series = seriesOf((await prometheus([...made, stale]).scrape()).body)
    plans.close()
    const figures = (name: string) =>
      ['version', 'current', 'refused'].map((each) =>
        series.get(`weir_live_${each}{settings="${name}"}`),
      )
    expect(figures('plans')).toEqual([0, 1, 0])
    expect(figures('stale')).toEqual([7, 0, 2])
    expect(series.get('weir_live_current{settings="never-heard"}')).toBeDefined()
  })

  test('neither is shown if none is given', async () => {
    const { body } = await prometheus([limiterOn(memoryStore())]).scrape()
    expect([...seriesOf(body).keys()].filter((id) => /^weir_(overload|live)/.test(id))).toEqual([])
  })
})

describe('what cannot be read is left out and counted, and the rest is shown', () => {
  const throws = () => {
    throw new Error('no')
  }
  test.each<[string, unknown]>([
    ['that throws', throws],
    ['that rejects', async () => throws()],
    ['that answers nothing', () => undefined],
    ['that answers null', () => null],
    ['that answers text', () => 'text'],
    ['without nodes', () => ({ kind: 'own' })],
    ['with other nodes', () => ({ ...memoryStore().stats(), nodes: [{ node: 'a' }] })],
    ['with words for numbers', () => ({ ...memoryStore().stats(), instances: 'many' })],
    ['with events of its own', () => ({ ...memoryStore().stats(), events: { a: {} } })],
    [
      'without a histogram',
      () => ({ ...memoryStore().stats(), nodes: [{ node: 'a', calls: {} }] }),
    ],
    [
      'with words in a histogram',
      () =>
        storeSaying({
          node: 'a',
          durations: { bounds: [1], counts: ['a', 'b'], sum: 0 },
        }).stats?.(),
    ],
    [
      'with words for bounds',
      () =>
        storeSaying({ node: 'a', durations: { bounds: ['a'], counts: [0, 0], sum: 0 } }).stats?.(),
    ],
  ])('a store %s', async (_, stats) => {
    const bad = limiterOn({ ...memoryStore(), stats } as never)
    const metrics = prometheus([bad, limiterOn(memoryStore())])
    await metrics.scrape()
    const series = seriesOf((await metrics.scrape()).body)
    expect(series.get('weir_metrics_failures_total{source="store"}')).toBe(2)
    expect(series.get('weir_memory_keys{store="memory"}')).toBe(0)
    expect(series.get(`weir_limiter_enabled{limiter="${bad.name}"}`)).toBe(1)
  })

  test('live policies', async () => {
    const bad = [throws, () => undefined, () => ({ version: 'three' })].map((status) => {
      return { status, history: throws } as never
    })
    const series = seriesOf((await prometheus([...bad, overload()]).scrape()).body)
    expect(series.get('weir_metrics_failures_total{source="live"}')).toBe(3)
    expect(series.get('weir_overload_refused_total')).toBe(0)
  })

  test('a limiter, and a function of limiters', async () => {
    const bad: WatchedLimiter = { stats: throws, store: memoryStore() }
    const good = limiterOn(memoryStore())
    const series = seriesOf((await prometheus([bad, good]).scrape()).body)
    expect(series.get('weir_metrics_failures_total{source="limiter"}')).toBe(1)
    expect(series.get(`weir_limiter_enabled{limiter="${good.name}"}`)).toBe(1)
    const withoutStore = {
      stats: () => good.stats(),
      get store(): never {
        return throws()
      },
    }
    const rest = seriesOf((await prometheus([withoutStore, good]).scrape()).body)
    expect(rest.get('weir_metrics_failures_total{source="limiter"}')).toBe(1)
    expect(rest.get(`weir_limiter_enabled{limiter="${good.name}"}`)).toBe(1)
    const none = seriesOf((await prometheus(throws).scrape()).body)
    expect(none.get('weir_metrics_failures_total{source="limiter"}')).toBe(1)
  })
})

describe('limiters', () => {
  test('from an iterator that can be read only once are read at every scrape', async () => {
    const limiter = limiterOn(memoryStore())
    const metrics = prometheus([limiter].values())
    for (let i = 0; i < 2; i += 1)
      expect((await metrics.scrape()).body).toContain(`limiter="${limiter.name}"`)
  })

  test('from a function are those that exist at the scrape', async () => {
    const all: RateLimiter[] = []
    const metrics = prometheus(() => all)
    expect((await metrics.scrape()).body).not.toContain('limiter=')
    all.push(limiterOn(memoryStore()))
    expect((await metrics.scrape()).body).toContain('limiter=')
  })

  test.each([
    undefined,
    null,
    7,
    {},
    [undefined],
    [{}],
    ['name'],
    [{ limiter: 7 }],
    [{ status: () => {} }],
  ])('are refused if they are not limiters: %j', (given) => {
    expect(() => prometheus(given as never)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
    )
  })

  test('of the other format of this package and of another copy of @weir/core are also read', async () => {
    const require = createRequire(import.meta.url)
    // An application may have bundled it, beside a library that loads it from node_modules.
    const { href: copy } = new URL('../../core/dist/module/index.js', import.meta.url)
    const core: typeof import('@weir/core') = await import(copy)
    const other = new core.RateLimiter({
      name: 'bundled',
      policy: core.fixedWindow({ limit: 1, window: '1h' }),
    })
    await other.consume('a')
    const { prometheus: twin } =
      require('@weir/metrics/prometheus') as typeof import('../src/prometheus.js')
    expect(other).not.toBeInstanceOf(RateLimiter)
    for (const made of [prometheus, twin])
      expect((await made([other]).scrape()).body).toContain(
        'limiter="bundled",policy="fixed-window-1h",kind="taken"} 1',
      )
  })
})

describe('a registry', () => {
  const registries = {
    'prom-client': () => new promClient.Registry(),
    '@prometheus-io/client': () => new successor.Registry(),
    'prom-client, OpenMetrics': () => {
      const registry = new promClient.Registry()
      registry.setContentType(promClient.Registry.OPENMETRICS_CONTENT_TYPE as never)
      return registry
    },
  }
  test.each(Object.entries(registries))('%s shows what the text shows', async (name, make) => {
    const registry = make()
    const metrics = prometheus(await busyLimiters(`of-${name.replace(/\W/g, '-')}`))
    const remove = metrics.register(registry)
    // Twice: names that a registry changes must stay right.
    await registry.metrics()
    const shown = seriesOf(await registry.metrics())
    const sorted = (series: Map<string, number>) =>
      [...series]
        .map(
          ([id, value]) => `${id.replace(/\{(.*)\}/, (_, all) => all.split(',').sort())} ${value}`,
        )
        .sort()
    expect(sorted(shown)).toEqual(sorted(seriesOf((await metrics.scrape()).body)))
    const ids = (await registry.getMetricsAsJSON()).map((metric) => metric.name)
    expect(ids.length).toBe(collector([])().length)
    remove()
    expect(seriesOf(await registry.metrics()).size).toBe(0)
  })

  test.each([
    ['prom-client', promClient],
    ['@prometheus-io/client', successor],
  ])('of %s merges the figures of several processes', async (_, library) => {
    const limiter = limiterOn(resilient(memoryStore(), { instances: 2 }))
    await limiter.consume('a')
    const registry = new library.Registry()
    prometheus([limiter]).register(registry)
    const shown = [await registry.getMetricsAsJSON()]
    limiter.enabled = false
    // Reads in one turn of the event loop are one scrape.
    await new Promise(setImmediate)
    shown.push(await registry.getMetricsAsJSON())
    const all = library.AggregatorRegistry.aggregate(shown as never)
    const series = seriesOf(await all.metrics())
    const of = `limiter="${limiter.name}"`
    const row = `${of},outcome="allowed",source="store",degraded="false"`
    expect(series.get(`weir_decisions_total{${row}}`)).toBe(2)
    expect(series.get(`weir_policy_limit{${of},policy="fixed-window-1h"}`)).toBe(5)
    expect(series.get(`weir_limiter_enabled{${of}}`)).toBe(0)
    expect(series.get('weir_store_instances{store="store"}')).toBe(2)
    expect(series.get('weir_store_breaker_state{store="store",node="store",state="closed"}')).toBe(
      1,
    )
    expect(series.get('weir_store_call_duration_seconds_count{store="store",node="store"}')).toBe(2)
  })

  test.each(Object.entries(registries))(
    'of %s: registering again replaces, and the first no longer takes anything out',
    async (name, make) => {
      const registry = make()
      const id = name.replace(/\W/g, '-')
      const [one, two] = ['one', 'two'].map((each) =>
        prometheus([new RateLimiter({ name: `again-${each}-${id}`, policy })]),
      ) as [ReturnType<typeof prometheus>, ReturnType<typeof prometheus>]
      const removeOne = one.register(registry)
      await registry.metrics()
      const removeTwo = two.register(registry)
      removeOne()
      const text = await registry.metrics()
      expect(text).toContain(`limiter="again-two-${id}"`)
      expect(text).not.toContain('again-one')
      removeTwo()
      expect(await registry.getMetricsAsJSON()).toEqual([])
    },
  )

  test('that already uses such a name keeps what it has, and gets nothing', async () => {
    const registry = new promClient.Registry()
    new promClient.Gauge({ name: 'weir_waiting', help: 'mine', registers: [registry] })
    expect(() => prometheus([]).register(registry)).toThrow('weir_waiting')
    expect((await registry.getMetricsAsJSON()).map(({ name }) => name)).toEqual(['weir_waiting'])
  })
})

describe('over HTTP', () => {
  test('Express answers a scrape', async () => {
    const limit = expressLimit({ limit: 3, window: '1h', name: 'express' })
    const app = express()
      .get('/metrics', prometheus([limit]).handler)
      .use(limit)
    app.get('/', (_, res) => void res.end())
    await serving(app, async (url) => {
      await fetch(url)
      const response = await fetch(`${url}/metrics`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe(TEXT)
      expect(response.headers.get('cache-control')).toBe('no-store')
      const of = 'limiter="express",outcome="allowed",source="store",degraded="false"'
      expect(seriesOf(await response.text()).get(`weir_decisions_total{${of}}`)).toBe(1)
    })
  })

  test('Koa answers a scrape', async () => {
    const limit = koaLimit({ limit: 3, window: '1h', name: 'koa' })
    const metrics = prometheus([limit])
    const app = new Koa()
    app.use(async (ctx, next) => {
      if (ctx.path !== '/metrics') return next()
      const { contentType, body } = await metrics.scrape(ctx.get('accept'))
      ctx.set('Content-Type', contentType)
      ctx.body = body
      return undefined
    })
    app.use(limit)
    await serving(app.callback(), async (url) => {
      await fetch(url)
      const headers = { accept: 'application/openmetrics-text' }
      const response = await fetch(`${url}/metrics`, { headers })
      expect(response.headers.get('content-type')).toBe(OPEN_METRICS)
      expect(await response.text()).toContain('limiter="koa",outcome="allowed"')
    })
  })
})

test('docs/metrics.md has an entry for each metric, and no other', () => {
  const text = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^- \*\*`(weir\.[a-z_.]+)`\*\* \((\w+)\)/gm)].map(
    ([, name, type]) => [name, type],
  )
  const all = collector([])().map(({ name, type }) => [name, type])
  expect(rows.sort()).toEqual(all.sort())
})
