// gRPC services: who calls, and the answer to a refused call.

import { type Client, credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { Controller } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { GrpcMethod, Transport } from '@nestjs/microservices'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { freePort } from '@weir/testkit'
import { of } from 'rxjs'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { moduleOf } from '../../../../../packages/nest/test/app.js'

const protoPath = `${import.meta.dirname}/greeter.proto`

@Controller()
class Greeter {
  @GrpcMethod('Greeter', 'Greet')
  greet({ name }: { name: string }, _metadata: unknown, _call: unknown) {
    return { text: `hello ${name}` }
  }
  @RateLimit({
    policy: fixedWindow({ limit: 1, window: '1h' }),
    key: (call) => call.metadata.get('user')[0],
    onMissingKey: 'deny',
  })
  @GrpcMethod('Greeter', 'Count')
  count(@RateLimitDecision() decision: RequestDecision) {
    return of({ text: `${decision.key} ${decision.remaining}` })
  }
  @RateLimit({ policy: fixedWindow({ limit: 5, window: '1h' }), deny: ['127.0.0.0/8'] })
  @GrpcMethod('Greeter', 'Refuse')
  refuse() {
    return {}
  }
}

type Call = (message: object, ...more: unknown[]) => unknown
let client: Client & Record<'greet' | 'count' | 'refuse', Call>
let keys: string[]

beforeEach(async () => {
  // gRPC warns of how Nest 10 starts its server.
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const port = await freePort()
  keys = []
  const limits = RateLimitModule.forRoot({
    policy: fixedWindow({ limit: 2, window: '1h' }),
    store: memoryStore({ clock: fakeClock() }),
    onDecision: ({ key }) => void keys.push(String(key)),
  })
  const app = await NestFactory.createMicroservice(
    moduleOf({ imports: [limits], controllers: [Greeter] }),
    {
      transport: Transport.GRPC,
      options: { package: 'greeter', protoPath, url: `127.0.0.1:${port}` },
      logger: false,
    },
  )
  await app.listen()
  const { greeter } = loadPackageDefinition(loadSync(protoPath)) as never as {
    greeter: { Greeter: new (...args: unknown[]) => typeof client }
  }
  const made = new greeter.Greeter(`127.0.0.1:${port}`, credentials.createInsecure())
  client = made
  onTestFinished(async () => {
    made.close()
    await app.close()
    warn.mockRestore()
  })
})

const greet = () =>
  new Promise((resolve, reject) =>
    client.greet({ name: 'you' }, (error: unknown, found: unknown) =>
      error ? reject(error as Error) : resolve(found),
    ),
  )

test('a refused call ends with RESOURCE_EXHAUSTED, and its metadata says when to retry', async () => {
  expect(await greet()).toEqual({ text: 'hello you' })
  await greet()
  const error = (await greet().catch((failed) => failed)) as ServiceError
  expect([error.code, error.details]).toEqual([
    8,
    'Request cannot be satisfied as assigned quota has been exceeded',
  ])
  expect(error.metadata.get('retry-after-ms')).toEqual(['3600000'])
  expect(keys).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1'])
})

test('functions get the call, with its metadata; a stream is also refused', async () => {
  const { Metadata } = await import('@grpc/grpc-js')
  const count = (user?: string) => {
    const metadata = new Metadata()
    if (user) metadata.set('user', user)
    const stream = client.count({ name: 'you' }, metadata) as NodeJS.EventEmitter
    return new Promise((resolve) => {
      stream.on('data', resolve)
      stream.on('error', ({ code }: ServiceError) => resolve(code))
    })
  }
  expect(await count('u1')).toEqual({ text: 'u1 0' })
  expect(await count('u1')).toBe(8)
  expect(await count('u2')).toEqual({ text: 'u2 0' })
  // PERMISSION_DENIED
  expect(await count()).toBe(7)
})

test('a client on the deny list gets PERMISSION_DENIED', async () => {
  const code = await new Promise((resolve) =>
    client.refuse({ name: 'you' }, (error: ServiceError) => resolve(error.code)),
  )
  expect(code).toBe(7)
})
