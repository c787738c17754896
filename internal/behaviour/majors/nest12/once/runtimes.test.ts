// Weir on Bun and Deno does what it does on Node: with Hono, on its own server of each, and with
// frameworks that take Node's.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { startRedis, waitUntil } from '@weir/testkit'
import { describe, type ExpectStatic, expect, type OnTestFinishedHandler, test } from 'vitest'

type AtEnd = (done: OnTestFinishedHandler) => void

const HERE = import.meta.dirname
const { arch, platform } = process
const bun = `@oven/bun-${platform}-${arch.replace('arm', 'aarch')}/bin/bun`
const deno = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}/deno`
const DENO = [binary('deno', deno), 'run', '--allow-all']

/** How each runtime is started. */
const runtimes = {
  Node: [process.execPath],
  Bun: [binary('bun', bun)],
  // Without it, a signal aborts after each response, and Deno warns whoever looks at one.
  Deno: [...DENO, '--unstable-no-legacy-abort'],
  'Deno as it is': DENO,
}
const names = Object.keys(runtimes) as (keyof typeof runtimes)[]

/** The packages of the runtimes find theirs when they are installed; that is not run here. */
function binary(runtime: string, path: string): string {
  const from = createRequire(import.meta.url).resolve(`${runtime}/package.json`)
  return createRequire(from).resolve(path)
}

const EXPECTED =
  /^(Deno\.serve: .* \(legacy behavior\)|\(node:\d+\) \[WEIR_FORWARDED_IGNORED\]|\(Use `).*\n/gm

interface Answer {
  readonly status: number
  readonly left: string | undefined
  readonly type: string | null
}

class App {
  readonly #url: string
  /** What it has printed as errors and warnings. */
  readonly errors: () => string
  constructor(port: string, errors: () => string) {
    this.#url = `http://127.0.0.1:${port}`
    this.errors = errors
  }
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.#url + path, init)
  }
  async ask(path: string, init?: RequestInit): Promise<Answer> {
    const response = await this.fetch(path, init)
    await response.arrayBuffer()
    const { headers, status } = response
    const left = headers.get('ratelimit')?.replace(/;t=.*/, '')
    return { status, left, type: headers.get('content-type') }
  }
  async statuses(path: string, times: number): Promise<number[]> {
    const statuses: number[] = []
    for (let i = 0; i < times; i += 1) statuses.push((await this.ask(path)).status)
    return statuses
  }
  async seen(): Promise<{ seen: string[]; remaining: number; free: number; waiting: number }> {
    return (await this.fetch('/seen')).json() as never
  }
  /** Sends a request whose client leaves, as soon as `then` has happened. */
  async leaves(path: string, then: (response: Promise<Response>) => Promise<unknown>) {
    const leaving = new AbortController()
    const response = this.fetch(path, { signal: leaving.signal })
    response.catch(() => {})
    await then(response)
    leaving.abort()
  }
}

async function start(
  runtime: keyof typeof runtimes,
  framework: string,
  { expect, onTestFinished }: { expect: ExpectStatic; onTestFinished: AtEnd },
  redisPort = '',
): Promise<App> {
  const [command = '', ...args] = runtimes[runtime]
  const RUNTIME = runtime.replace(/ .*/, '')
  const env = { ...process.env, RUNTIME, REDIS_PORT: redisPort, NO_COLOR: '1' }
  const child = spawn(command, [...args, join(HERE, 'runtime.mjs'), framework], { cwd: HERE, env })
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
    if (redisPort === '') expect(errors.replace(EXPECTED, '')).toBe('')
  })
  const port = await Promise.race([
    once(child.stdout, 'data'),
    closed.then(() => {
      throw new Error(`${runtime} has ended: ${errors}`)
    }),
  ])
  return new App(`${port}`.trim(), () => errors)
}

describe.concurrent.each(names)('%s', (runtime) => {
  test('limits by the address of the connection, and says so in every response', async (context) => {
    const { expect } = context
    const app = await start(runtime, 'Hono', context)
    const forged = { headers: { 'x-forwarded-for': '192.0.2.7', 'x-real-ip': '192.0.2.7' } }
    expect(await app.ask('/three/text', forged)).toMatchObject({ status: 200, left: '"three";r=2' })
    expect(await app.ask('/three/nothing')).toMatchObject({ status: 204, left: '"three";r=1' })
    expect(await app.ask('/three/throws')).toMatchObject({ status: 500, left: '"three";r=0' })
    const type = 'application/problem+json'
    expect(await app.ask('/three/text')).toEqual({ status: 429, left: '"three";r=0', type })
    expect(app.errors()).toContain('[WEIR_FORWARDED_IGNORED]')
  })

  test('a slot is held while a response is made and read, and no longer', async (context) => {
    const { expect } = context
    const app = await start(runtime, 'Hono', context)
    const isFree = async () => (await app.seen()).free === 1
    const isHeld = async () => !(await isFree())
    expect(await app.statuses('/slots/lines', 2)).toEqual([200, 200])
    await app.leaves('/slots/stream', async (response) => {
      await (await response).body?.getReader().read()
      expect(await app.statuses('/slots/text', 1)).toEqual([429])
    })
    await waitUntil('a client that leaves a response releases its slot', isFree)
    await app.leaves('/slots/hangs', () => waitUntil('the handler has begun', isHeld))
    expect(await app.statuses('/slots/text', 1)).toEqual([429])
    await app.fetch('/go')
    await waitUntil('a handler that ends releases the slot of a client that has left', isFree)
  })

  test('a cost is settled once, by how the response ended', async (context) => {
    const { expect } = context
    const app = await start(runtime, 'Hono', context)
    await app.ask('/settles/text')
    await app.ask('/settles/text', { method: 'HEAD' })
    await app.ask('/settles/nothing')
    await app.ask('/settles/throws')
    await app.ask('/settles/lines')
    await app.leaves('/settles/stream', async (response) => {
      await (await response).body?.getReader().read()
    })
    await waitUntil('all are settled', async () => (await app.seen()).remaining === 94)
    const { seen } = await app.seen()
    const ended = ['200 true', '200 true', '204 true', '500 true', '200 true', '200 false']
    expect(seen).toEqual(ended)
  })

  test('a request that waits leaves the queue with its client', async (context) => {
    const app = await start(runtime, 'Hono', context)
    await app.ask('/waits/text')
    const isWaiting = async () => (await app.seen()).waiting === 1
    await app.leaves('/waits/text', () => waitUntil('the request waits', isWaiting))
    await waitUntil('it waits no longer', async () => (await app.seen()).waiting === 0)
  })

  test.for(['Express', 'Koa'])('%s limits as on Node', async (framework, context) => {
    const app = await start(runtime, framework, context)
    context.expect(await app.statuses('/three/text', 4)).toEqual([200, 200, 200, 429])
  })
})

test('all count together on one Redis, and answer when it is gone', async (context) => {
  const redis = await startRedis()
  context.onTestFinished(() => redis.stop())
  const apps = await Promise.all(
    names.slice(0, 3).map((name) => start(name, 'Hono', context, `${redis.port}`)),
  )
  for (const app of apps) expect(await app.statuses('/shared/text', 2)).toEqual([200, 200])
  for (const app of apps) expect(await app.statuses('/shared/text', 1)).toEqual([429])
  redis.kill()
  for (const app of apps) expect(await app.statuses('/shared/text', 1)).toEqual([429])
  for (const app of apps) expect(await app.statuses('/three/text', 1)).toEqual([200])
})
