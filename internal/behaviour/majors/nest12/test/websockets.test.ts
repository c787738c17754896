// Gateways, over ws and over socket.io.

import { type CanActivate, type ExecutionContext, UseFilters, UseGuards } from '@nestjs/common'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import {
  fixedWindow,
  memoryStore,
  RateLimit,
  RateLimitDecision,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { io } from 'socket.io-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { start } from '../../../../../packages/nest/test/app.js'

class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    Object.assign(context.switchToWs().getClient(), { user: context.switchToWs().getData().user })
    return true
  }
}

@WebSocketGateway()
@UseGuards(RateLimitGuard)
@UseFilters(RateLimitFilter)
class Chat {
  @SubscribeMessage('say') say(@RateLimitDecision() { key, remaining, all }: RequestDecision) {
    return { event: 'said', data: `${key} ${remaining} ${all.length}` }
  }
  @SkipRateLimit() @SubscribeMessage('ping') ping(@RateLimitDecision() decision?: RequestDecision) {
    return { event: 'pong', data: decision === undefined ? 'pong' : 'an earlier decision' }
  }
}

@WebSocketGateway()
@UseFilters(RateLimitFilter)
class ByUser {
  @UseGuards(AuthGuard, RateLimitGuard)
  @RateLimit({
    policy: fixedWindow({ limit: 1, window: '1h' }),
    // Nest 12 runs global guards in gateways; Nest 10 and 11 do not.
    order: 'afterGuards',
    key: (client, context) => `${client.user} in ${context.switchToWs().getData().room}`,
  })
  @SubscribeMessage('join')
  join(@RateLimitDecision() { key }: RequestDecision) {
    return { event: 'joined', data: key }
  }
}

interface Peer {
  send(event: string, data: unknown): Promise<{ event: string; data: unknown }>
}

const transports = {
  async ws(url: string): Promise<Peer> {
    const socket = new WebSocket(url.replace('http', 'ws'))
    onTestFinished(() => socket.close())
    await new Promise((resolve) => socket.once('open', resolve))
    return {
      send: (event, data) =>
        new Promise((resolve) => {
          socket.once('message', (text) => resolve(JSON.parse(String(text))))
          socket.send(JSON.stringify({ event, data }))
        }),
    }
  },
  async 'socket.io'(url: string): Promise<Peer> {
    const socket = io(url, { transports: ['websocket'], forceNew: true })
    onTestFinished(() => void socket.close())
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
    return {
      send: (event, data) =>
        new Promise((resolve) => {
          socket.onAny(function answer(got: string, answered: unknown) {
            socket.offAny(answer)
            resolve({ event: got, data: answered })
          })
          socket.emit(event, data)
        }),
    }
  },
}

describe.each(['ws', 'socket.io'] as const)('%s', (transport) => {
  async function connected() {
    const limit = fixedWindow({ limit: 2, window: '1h' })
    const app = await start(
      {
        imports: [
          RateLimitModule.forRoot({ policy: limit, store: memoryStore({ clock: fakeClock() }) }),
        ],
        providers: [Chat, ByUser],
      },
      {
        prepare: (nest) =>
          void nest.useWebSocketAdapter(
            transport === 'ws' ? new WsAdapter(nest) : new IoAdapter(nest),
          ),
      },
    )
    return () => transports[transport](app.url)
  }

  test('messages count by address, over all connections, and a refusal is the event exception', async () => {
    const connect = await connected()
    const [first, second] = [await connect(), await connect()]
    expect(await first.send('say', 'a text')).toEqual({ event: 'said', data: '127.0.0.1 1 1' })
    // `all` has this message's decisions, not those of the whole connection, although a string can
    // only be matched by its connection.
    expect(await first.send('say', 'a text')).toEqual({ event: 'said', data: '127.0.0.1 0 1' })
    expect(await second.send('say', { n: 3 })).toEqual({
      event: 'exception',
      data: {
        status: 'error',
        message: 'Request cannot be satisfied as assigned quota has been exceeded',
        code: 'TOO_MANY_REQUESTS',
        retryAfterMs: 3_600_000,
        // As in Nest's own exceptions.
        cause: { pattern: 'say', data: { n: 3 } },
      },
    })
    expect(await second.send('ping', {})).toEqual({ event: 'pong', data: 'pong' })
  })

  test('a skipped message with a string got the decision on an earlier one', async () => {
    const client = await (await connected())()
    expect(await client.send('say', 'a text')).toEqual({ event: 'said', data: '127.0.0.1 1 1' })
    expect(await client.send('ping', 'a text')).toEqual({ event: 'pong', data: 'pong' })
  })

  test('a key from the message, after authentication', async () => {
    const client = await (await connected())()
    expect(await client.send('join', { user: 'u1', room: 'r1' })).toEqual({
      event: 'joined',
      data: 'u1 in r1',
    })
    expect((await client.send('join', { user: 'u1', room: 'r1' })).event).toBe('exception')
    expect(await client.send('join', { user: 'u1', room: 'r2' })).toEqual({
      event: 'joined',
      data: 'u1 in r2',
    })
  })
})

test('a message that asks for an acknowledgement is also acknowledged with the refusal', async () => {
  const limit = fixedWindow({ limit: 1, window: '1h' })
  const store = memoryStore({ clock: fakeClock() })
  const app = await start(
    { imports: [RateLimitModule.forRoot({ policy: limit, store })], providers: [Chat] },
    { prepare: (nest) => void nest.useWebSocketAdapter(new IoAdapter(nest)) },
  )
  const socket = io(app.url, { transports: ['websocket'] })
  onTestFinished(() => void socket.close())
  const events: unknown[] = []
  socket.on('exception', (data) => events.push(data))
  socket.emit('say', { n: 1 })
  await new Promise((resolve) => socket.once('said', resolve))
  const refused = {
    status: 'error',
    message: 'Request cannot be satisfied as assigned quota has been exceeded',
    code: 'TOO_MANY_REQUESTS',
    retryAfterMs: 3_600_000,
    cause: { pattern: 'say', data: { n: 2 } },
  }
  expect(await socket.timeout(5_000).emitWithAck('say', { n: 2 })).toEqual(refused)
  await expect.poll(() => events).toEqual([refused])
})

test('a client on the allow list has no decision, not even that of an earlier message', async () => {
  @WebSocketGateway()
  @UseGuards(RateLimitGuard)
  class Free {
    @SubscribeMessage('say') say(@RateLimitDecision() decision?: RequestDecision) {
      return { event: 'said', data: String(decision) }
    }
  }
  const limit = { limit: 1, window: '1h', allow: ['127.0.0.0/8'] } as const
  const app = await start(
    { imports: [RateLimitModule.forRoot(limit)], providers: [Free] },
    { prepare: (nest) => void nest.useWebSocketAdapter(new WsAdapter(nest)) },
  )
  const client = await transports.ws(app.url)
  for (let i = 0; i < 3; i += 1)
    expect(await client.send('say', 'a text')).toEqual({ event: 'said', data: 'undefined' })
})
