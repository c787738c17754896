// Fields below the root, and references of a federation: their guards and interceptors run only if
// an option of GraphQLModule says so.

import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled'
import { ApolloFederationDriver, type ApolloFederationDriverConfig } from '@nestjs/apollo'
import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common'
import {
  Directive,
  Field,
  GraphQLModule,
  ID,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  ResolveReference,
  Resolver,
} from '@nestjs/graphql'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { expect, test } from 'vitest'
import { start } from '../../../../../packages/nest/test/app.js'

const once = fixedWindow({ limit: 1, window: '1h' })
const twice = fixedWindow({ limit: 2, window: '1h' })

@ObjectType()
@Directive('@key(fields: "id")')
class User {
  @Field(() => ID) id!: string
}

class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const [, second, third] = context.getArgs()
    const { req } = second?.req ? second : third
    req.user = { id: req.headers['x-user'] }
    return true
  }
}

@Injectable()
@Resolver(() => User)
class Users {
  @Query(() => User) me() {
    return { id: 'me' }
  }
  @UseGuards(AuthGuard)
  @RateLimit({ policy: once, key: (req) => req.user.id, order: 'afterGuards' })
  @ResolveReference()
  reference({ id }: { id: string }) {
    return { id }
  }
  @RateLimit(twice)
  @ResolveField(() => String)
  name(@Parent() { id }: User) {
    return `name of ${id}`
  }
}

@Injectable()
@Resolver(() => User)
class Plain {
  @Query(() => User) me() {
    return { id: 'me' }
  }
  @ResolveReference() reference({ id }: { id: string }) {
    return { id }
  }
}

type Enhancers = ApolloFederationDriverConfig['fieldResolverEnhancers']

function started(
  resolver: new () => object,
  fieldResolverEnhancers: Enhancers,
  options: RateLimitModuleOptions = {},
) {
  const driver = GraphQLModule.forRoot<ApolloFederationDriverConfig>({
    driver: ApolloFederationDriver,
    autoSchemaFile: { federation: 2 },
    playground: false,
    // It would print a line at the start.
    plugins: [ApolloServerPluginInlineTraceDisabled()],
    ...(fieldResolverEnhancers && { fieldResolverEnhancers }),
  })
  const store = memoryStore({ clock: fakeClock() })
  const imports = [RateLimitModule.forRoot({ store, ...options }), driver]
  return start({ imports, providers: [resolver] })
}

async function ask(url: string, query: string, user = 'u1') {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-User': user },
    body: JSON.stringify({ query }),
  })
  const { data, errors } = (await response.json()) as {
    data: unknown
    errors?: { message: string }[]
  }
  return errors?.[0]?.message ?? data
}

const entity =
  '{ _entities(representations: [{ __typename: "User", id: "7" }]) { ... on User { id } } }'

test('a reference after the guards: by the user that one of them has found', async () => {
  const { url } = await started(Users, ['guards', 'interceptors'])
  expect(await ask(url, entity)).toEqual({ _entities: [{ id: '7' }] })
  expect(await ask(url, entity)).toBe(
    'Request cannot be satisfied as assigned quota has been exceeded',
  )
  expect(await ask(url, entity, 'u2')).toEqual({ _entities: [{ id: '7' }] })
})

test('a reference by the default: by address', async () => {
  const { url } = await started(Plain, ['guards'], { policy: once })
  expect(await ask(url, entity)).toEqual({ _entities: [{ id: '7' }] })
  expect(await ask(url, entity, 'u2')).toBe(
    'Request cannot be satisfied as assigned quota has been exceeded',
  )
})

test('a field', async () => {
  const { url } = await started(Users, ['guards', 'interceptors'])
  for (let i = 0; i < 2; i += 1)
    expect(await ask(url, '{ me { name } }')).toEqual({ me: { name: 'name of me' } })
  expect(await ask(url, '{ me { name } }')).toBe(
    'Request cannot be satisfied as assigned quota has been exceeded',
  )
})

test.for<[string, new () => object, Enhancers, RateLimitModuleOptions, RegExp]>([
  ['a decorator, without guards', Users, undefined, {}, /Users\.(name|reference).*fieldResolver/],
  ['after the guards, without interceptors', Users, ['guards'], {}, /Users\.reference/],
  [
    'the default after the guards, which would meet no interceptor',
    Plain,
    ['guards'],
    { policy: once, order: 'afterGuards' },
    /"default" of Plain\.reference.*fieldResolverEnhancers: \['guards', 'interceptors'\]/,
  ],
])('is reported at the start: %s', async ([, resolver, enhancers, options, message]) => {
  await expect(started(resolver, enhancers, options)).rejects.toMatchObject({
    code: 'WEIR_NOT_ENFORCED',
    message: expect.stringMatching(message),
  })
})
