import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type Connection,
  type FaultyProxy,
  openConnection,
  type RedisServer,
  startProxy,
  startRedis,
  waitUntil,
} from '../src/index.js'
import { readRequests } from '../src/requests.js'

let server: RedisServer
let proxy: FaultyProxy
let connection: Connection

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

beforeEach(async () => {
  proxy = await startProxy(server.port)
  connection = openConnection(proxy.port)
  await connection.command('PING')
})
afterEach(async () => {
  connection.close()
  await proxy.stop()
})

test('by default, the proxy passes everything on and counts it', async () => {
  const long = 'x'.repeat(300_000)
  await connection.command('SET', 'long', long)
  expect(await connection.command('GET', 'long')).toBe(long)
  await connection.command('get', 'long')
  expect(Object.fromEntries(proxy.stats.commands)).toEqual({ PING: 1, SET: 1, GET: 2 })
  expect(proxy.stats.connections).toBe(1)
  expect(proxy.stats.bytesToServer).toBeGreaterThan(300_000)
  expect(proxy.stats.bytesToClient).toBeGreaterThan(600_000)
})

test('a black hole delivers nothing until it closes, then everything in order', async () => {
  await proxy.set('blackhole')
  await server.command('SET', 'n', 0)
  const replies = [connection.command('INCR', 'n'), connection.command('INCR', 'n')]
  await sleep(60)
  expect(await server.command('GET', 'n')).toBe('0')
  await proxy.set('pass')
  expect(await Promise.all(replies)).toEqual([1, 2])
})

test('a mute proxy delivers to the server and nothing back, until it passes or cuts', async () => {
  await server.command('SET', 'n', 0)
  await proxy.set('mute')
  const reply = connection.command('INCR', 'n')
  await waitUntil('the server to count', async () => (await server.command('GET', 'n')) === '1')
  await proxy.set('pass')
  expect(await reply).toBe(1)

  await proxy.set('mute')
  const lost = connection.command('INCR', 'n')
  await waitUntil('the server to count', async () => (await server.command('GET', 'n')) === '2')
  await proxy.set('reset')
  await expect(lost).rejects.toThrow()
  await proxy.set('pass')
  await expectPong()
})

test('a deaf proxy delivers earlier answers of the server and nothing to it, until it passes or cuts', async () => {
  await server.command('SET', 'n', 0)
  const popped = connection.command('BLPOP', 'list', 0)
  await waitUntil('the server to wait', async () => {
    return String(await server.command('INFO', 'clients')).includes('blocked_clients:1')
  })
  await proxy.set('deaf')
  const held = openConnection(proxy.port)
  const reply = held.command('INCR', 'n')
  await server.command('LPUSH', 'list', 'x')
  expect(await popped).toEqual(['list', 'x'])
  expect(await server.command('GET', 'n')).toBe('0')
  await proxy.set('pass')
  expect(await reply).toBe(1)

  await proxy.set('deaf')
  const lost = held.command('INCR', 'n')
  await sleep(20)
  await proxy.set('reset')
  await expect(lost).rejects.toThrow()
  await proxy.set('pass')
  expect(await server.command('GET', 'n')).toBe('1')
  held.close()
})

test('latency delays both directions', async () => {
  await proxy.set({ latencyMs: 40 })
  const start = performance.now()
  await connection.command('PING')
  expect(performance.now() - start).toBeGreaterThanOrEqual(79)
})

test('reset cuts old and new connections', async () => {
  const pending = connection.command('BLPOP', 'nothing', 0)
  await proxy.set('reset')
  await expect(pending).rejects.toThrow()
  await expect(openConnection(proxy.port).command('PING')).rejects.toThrow()
  await proxy.set('pass')
  await expectPong()
})

test('a refusing proxy does not listen until it passes again', async () => {
  await proxy.set('refuse')
  await expect(openConnection(proxy.port).command('PING')).rejects.toThrow('ECONNREFUSED')
  await proxy.set('pass')
  await expectPong()
})

test("when the server closes a connection, the client's connection is closed", async () => {
  const other = await startRedis()
  const before = await startProxy(other.port)
  const client = openConnection(before.port)
  await client.command('PING')
  await other.stop()
  await expect(client.command('PING')).rejects.toThrow()
  await before.stop()
})

test('after a retarget, new connections go to the other server, and open ones stay', async () => {
  const other = await startRedis()
  await other.command('SET', 'who', 'other')
  await server.command('SET', 'who', 'first')
  proxy.retarget(other.port)
  const fresh = openConnection(proxy.port)
  expect(await fresh.command('GET', 'who')).toBe('other')
  expect(await connection.command('GET', 'who')).toBe('first')
  fresh.close()
  await other.stop()
})

test('an observer sees whole commands, and the connection of each', async () => {
  const seen: string[] = []
  const observed = await startProxy(server.port, {
    onCommand: (command, number) => seen.push(`${number} ${command.join(' ')}`),
  })
  const [one, two] = [openConnection(observed.port), openConnection(observed.port)]
  await one.command('set', 'a', 1)
  await two.command('GET', 'a')
  expect(seen).toEqual(['1 set a 1', '2 GET a'])
  one.close()
  two.close()
  await observed.stop()
})

test('commands are found wherever the stream is cut into chunks', () => {
  const stream = Buffer.from(
    '*2\r\n$3\r\nGET\r\n$4\r\n*\r\n$\r\n*1\r\n$4\r\nping\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n',
  )
  for (let size = 1; size <= stream.length; size++) {
    const found: (readonly string[])[] = []
    const read = readRequests((command) => found.push(command))
    for (let at = 0; at < stream.length; at += size) read(stream.subarray(at, at + size))
    expect(found).toEqual([['GET', '*\r\n$'], ['ping'], ['GET', '']])
  }
})

async function expectPong(): Promise<void> {
  const fresh = openConnection(proxy.port)
  expect(await fresh.command('PING')).toBe('PONG')
  fresh.close()
}
