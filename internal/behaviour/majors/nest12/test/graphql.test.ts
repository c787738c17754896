// GraphQL with @nestjs/graphql: with Apollo on Express, with and without a response in the context;
// on Fastify; and subscriptions over a socket.

import { createRequire } from 'node:module'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Injectable } from '@nestjs/common'
import {
  AbstractGraphQLDriver,
  Args,
  type GqlModuleOptions,
  GraphQLModule,
  Mutation,
  Query,
  Resolver,
  Subscription,
} from '@nestjs/graphql'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import type { GraphQLSchema } from 'graphql'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { start } from '../../../../../packages/nest/test/app.js'
import { platform as fastify } from '../fastify.js'

const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })
const twice = fixedWindow({ name: 'twice', limit: 2, window: '1h' })

@Injectable()
@Resolver()
class Greetings {
  @Query(() => String) hello(@RateLimitDecision() decision: RequestDecision): string {
    return `${decision.key} ${decision.remaining}`
  }
  @RateLimit({ policy: once, order: 'afterGuards' })
  @Mutation(() => String)
  @Reflect.metadata('design:paramtypes', [String])
  greet(@Args('name', { type: () => String }) name: string): string {
    return `hello ${name}`
  }
  @RateLimit({ policy: once, key: (_, context) => context.getArgByIndex(1).name })
  @Query(() => String)
  @Reflect.metadata('design:paramtypes', [String])
  named(@Args('name', { type: () => String }) name: string): string {
    return name
  }
  @RateLimit(fixedWindow({ limit: 0, window: '1h' })) @Query(() => String) never(): string {
    return 'never'
  }
  @SkipRateLimit() @Query(() => String) free(): string {
    return 'free'
  }
  @Subscription(() => String) async *ticks(
    @RateLimitDecision() { key, remaining }: RequestDecision,
  ) {
    for (const tick of ['tick', 'tock']) yield { ticks: `${tick} ${key} ${remaining}` }
  }
}

const limited = (settings?: { refundWhenRefused: boolean }) =>
  RateLimitModule.forRoot({
    policy: twice,
    store: memoryStore({ clock: fakeClock() }),
    ...settings,
  })

async function started(
  context?: ApolloDriverConfig['context'],
  settings?: { refundWhenRefused: boolean },
) {
  const driver = GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    autoSchemaFile: true,
    playground: false,
    subscriptions: { 'graphql-ws': true },
    ...(context && { context }),
  })
  const { url } = await start({ imports: [limited(settings), driver], providers: [Greetings] })
  return Object.assign(asking(url), { url })
}

function asking(url: string) {
  return async (query: string, status = 200) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query }),
    })
    const { data, errors } = (await response.json()) as {
      data: unknown
      errors?: { message: string; extensions: object }[]
    }
    expect([200, status]).toContain(response.status)
    return { data, error: errors?.[0], headers: response.headers }
  }
}

test.each([
  { statusCode: 429, message: 'ThrottlerException: Too Many Requests' },
  () => ({ statusCode: 429, message: 'ThrottlerException: Too Many Requests' }),
])("a refusal with the body of Nest's throttler keeps its code and its wait", async (body) => {
  const store = memoryStore({ clock: fakeClock() })
  const driver = GraphQLModule.forRoot<ApolloDriverConfig>({
    driver: ApolloDriver,
    autoSchemaFile: true,
    playground: false,
  })
  const limits = RateLimitModule.forRoot({ policy: once, store, body })
  const ask = asking((await start({ imports: [limits, driver], providers: [Greetings] })).url)
  await ask('{ hello }')
  const { error } = await ask('{ hello }', 429)
  const { extensions } = refused
  expect(error).toMatchObject({ message: 'ThrottlerException: Too Many Requests', extensions })
})

const refused = {
  message: 'Request cannot be satisfied as assigned quota has been exceeded',
  extensions: { code: 'TOO_MANY_REQUESTS', retryAfterMs: 3_600_000 },
}

test('with a response in the context: by address, with headers', async () => {
  const ask = await started(({ req, res }: object & { req?: unknown; res?: unknown }) => ({
    req,
    res,
  }))
  const first = await ask('{ hello }')
  expect(first.data).toEqual({ hello: '127.0.0.1 1' })
  expect(first.headers.get('RateLimit')).toBe('"twice";r=1;t=3600')
  // Each field is a separate request to the limiter.
  const second = await ask('{ a: hello b: hello }', 429)
  expect(second.error).toMatchObject(refused)
  expect(second.headers.get('Retry-After')).toBe('3600')
  expect((await ask('{ free }')).data).toEqual({ free: 'free' })
})

test('without a response in the context: by address, without headers', async () => {
  // Nest adds the request to any context.
  const ask = await started(() => ({ mine: true }))
  expect((await ask('{ hello }')).data).toEqual({ hello: '127.0.0.1 1' })
  await ask('{ hello }')
  const third = await ask('{ hello }', 429)
  expect(third.error).toMatchObject(refused)
  expect(third.headers.get('RateLimit')).toBeNull()
})

test('decorators, and keys from arguments', async () => {
  const ask = await started()
  expect((await ask('mutation { greet(name: "a") }')).data).toEqual({ greet: 'hello a' })
  expect((await ask('mutation { greet(name: "b") }', 429)).error).toMatchObject(refused)
  expect((await ask('{ named(name: "a") }')).data).toEqual({ named: 'a' })
  expect((await ask('{ named(name: "a") }', 429)).error).toMatchObject(refused)
  expect((await ask('{ named(name: "b") }')).data).toEqual({ named: 'b' })
})

test('aliases of a field each count, at a cost that does not grow with their number', async () => {
  const ask = await started(({ req, res }: object & { req?: unknown; res?: unknown }) => ({
    req,
    res,
  }))
  const aliases = Array.from({ length: 2_000 }, (_, i) => `f${i}: hello`).join(' ')
  const { error, headers } = await ask(`{ ${aliases} }`, 429)
  expect(error).toMatchObject(refused)
  expect(headers.get('RateLimit')).toBe('"twice";r=0;t=3600')
})

test('a refused field refunds nothing of what other fields of the query were charged', async () => {
  const ask = await started(undefined, { refundWhenRefused: true })
  for (let i = 0; i < 2; i += 1)
    expect((await ask('{ hello never }', 429)).error?.message).toBe(
      'Request cannot be satisfied as assigned quota has been exceeded',
    )
  expect((await ask('{ hello }', 429)).error).toMatchObject(refused)
})

// Loaded as Nest does: the ESM copy of the package would be another realm.
const { graphql }: typeof import('graphql') = createRequire(import.meta.url)('graphql')

/**
 * Nest's driver for Apollo on Fastify is another package; this is a driver without Apollo.
 */
class FastifyDriver extends AbstractGraphQLDriver {
  async start({ schema }: GqlModuleOptions): Promise<void> {
    const fastify = this.httpAdapterHost.httpAdapter.getInstance()
    fastify.post('/graphql', async (request: { body: { query: string } }, reply: object) => {
      const source = request.body.query
      return graphql({ schema: schema as GraphQLSchema, source, contextValue: { reply } })
    })
  }
  async stop(): Promise<void> {}
}

test('on Fastify: by address, with headers', async () => {
  const driver = GraphQLModule.forRoot({ driver: FastifyDriver, autoSchemaFile: true })
  const { url } = await start(
    { imports: [limited(), driver], providers: [Greetings] },
    { on: fastify },
  )
  const ask = asking(url)
  const first = await ask('{ hello }')
  expect(first.data).toEqual({ hello: '127.0.0.1 1' })
  expect(first.headers.get('RateLimit')).toBe('"twice";r=1;t=3600')
  await ask('{ hello }')
  const third = await ask('{ hello }')
  expect(third.error).toMatchObject(refused)
  expect(third.headers.get('Retry-After')).toBe('3600')
})

test('a subscription counts once, by address, and its messages do not count', async () => {
  const { url } = await started(({ req, res, extra }: Record<string, unknown>) => ({
    req,
    res,
    extra,
  }))
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  onTestFinished(() => socket.close())
  const messages: { id?: string; type: string; payload?: unknown }[] = []
  socket.on('message', (text) => messages.push(JSON.parse(String(text))))
  await new Promise((resolve) => socket.once('open', resolve))
  const send = (message: object) => socket.send(JSON.stringify(message))
  send({ type: 'connection_init' })
  await expect.poll(() => messages.length).toBe(1)

  const received = async (id: string) => {
    send({ id, type: 'subscribe', payload: { query: 'subscription { ticks }' } })
    await expect.poll(() => messages.some((one) => one.id === id && one.type !== 'next')).toBe(true)
    return messages.filter((one) => one.id === id && one.payload).map(({ payload }) => payload)
  }
  const all = (decided: string) =>
    ['tick', 'tock'].map((ticks) => ({ data: { ticks: `${ticks} ${decided}` } }))
  expect(await received('1')).toEqual(all('127.0.0.1 1'))
  expect(await received('2')).toEqual(all('127.0.0.1 0'))
  expect(JSON.stringify(await received('3'))).toContain(
    '"code":"TOO_MANY_REQUESTS","retryAfterMs":3600000',
  )
})
