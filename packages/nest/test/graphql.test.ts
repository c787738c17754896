// GraphQL by @nestjs/graphql and Apollo, with and without a response in the context.

import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Injectable } from '@nestjs/common'
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql'
import { fakeClock } from '@weir/core/testing'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '@weir/nest'
import { expect, test } from 'vitest'
import { start } from './app.js'

const once = fixedWindow({ name: 'once', limit: 1, window: '1h' })
const twice = fixedWindow({ name: 'twice', limit: 2, window: '1h' })

@Injectable()
@Resolver()
class Greetings {
  @Query(() => String) hello(@RateLimitDecision() decision: RequestDecision): string {
    return `${decision.key} ${decision.remaining}`
  }
  @RateLimit({ policy: once, afterGuards: true })
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
  @SkipRateLimit() @Query(() => String) free(): string {
    return 'free'
  }
}

async function started(context?: ApolloDriverConfig['context']) {
  const app = await start({
    imports: [
      RateLimitModule.forRoot({ policy: twice, store: memoryStore({ clock: fakeClock() }) }),
      GraphQLModule.forRoot<ApolloDriverConfig>({
        driver: ApolloDriver,
        autoSchemaFile: true,
        playground: false,
        ...(context && { context }),
      }),
    ],
    providers: [Greetings],
  })
  return async (query: string, status = 200) => {
    const response = await fetch(`${app.url}/graphql`, {
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

const refused = {
  message: 'Too many requests',
  extensions: { code: 'TOO_MANY_REQUESTS', retryAfterMs: 3_600_000 },
}

test('with a response in the context: by address, with headers', async () => {
  const ask = await started(({ req, res }: object & { req?: unknown; res?: unknown }) => ({ req, res }))
  const first = await ask('{ hello }')
  expect(first.data).toEqual({ hello: '127.0.0.1 1' })
  expect(first.headers.get('RateLimit')).toBe('"twice";r=1;t=3600')
  // Each field is a request of its own to the limiter.
  const second = await ask('{ a: hello b: hello }', 429)
  expect(second.error).toMatchObject(refused)
  expect(second.headers.get('Retry-After')).toBe('3600')
  expect((await ask('{ free }')).data).toEqual({ free: 'free' })
})

test('without a response in the context: by address, without headers', async () => {
  // Nest adds the request to whatever the context is.
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
