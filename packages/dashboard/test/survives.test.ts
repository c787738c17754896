// Nothing that a client does with a connection, or that a user's function throws, ends the process
// or disturbs the others.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { fixedWindow, RateLimiter } from '@weir/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Dashboard, type DashboardOptions, dashboard } from '../src/index.js'

function made(options: Partial<DashboardOptions>): Dashboard {
  const limiter = new RateLimiter({ name: 'api', policy: fixedWindow({ limit: 9, window: '1m' }) })
  const page = dashboard({ limiters: [limiter], authorize: () => true, ...options })
  onTestFinished(() => page.close())
  return page
}

/** Errors that nobody has caught while a test ran. */
function uncaught(): unknown[] {
  const errors: unknown[] = []
  const add = (error: unknown): void => void errors.push(error)
  process.on('uncaughtException', add).on('unhandledRejection', add)
  onTestFinished(() => {
    process.off('uncaughtException', add).off('unhandledRejection', add)
  })
  return errors
}

/** Waits until asynchronous errors have been reported. */
function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}

function posted(what: string, body: object): Request {
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  return new Request(`http://localhost/${what}`, init)
}

const OFF = { kind: 'disable', limiter: 'api', confirm: 'api' }

test('a Fetch server may cancel a stream and abort its request, in either order', async () => {
  const errors = uncaught()
  const page = made({})
  for (const isAbortFirst of [false, true]) {
    const aborter = new AbortController()
    const { signal } = aborter
    const { body } = await page.fetch(new Request('http://localhost/events', { signal }))
    const reader = body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    if (isAbortFirst) aborter.abort()
    await reader?.cancel()
    aborter.abort()
    await turns()
  }
  expect(errors).toEqual([])
})

test('a stream whose request was aborted before it began has ended', async () => {
  const request = new Request('http://localhost/events', { signal: AbortSignal.abort() })
  const { body } = await made({}).fetch(request)
  expect((await new Response(body).text()).match(/^event: frame$/gm)).toHaveLength(1)
})

test('an async onAction that rejects is reported once, and the action is answered', async () => {
  const errors = uncaught()
  const log = vi.fn<(line: string) => void>()
  const onAction = async (): Promise<void> => {
    throw new Error('no audit')
  }
  const page = made({ actions: true, onAction, log })
  const { status } = await page.fetch(posted('actions', OFF))
  await page.fetch(posted('actions', OFF))
  await turns()
  expect(status).toBe(200)
  expect(errors).toEqual([])
  expect(log.mock.calls).toEqual([["Weir's dashboard: onAction failed: Error: no audit"]])
})

test('a log that throws changes no answer', async () => {
  const fail = (): never => {
    throw new Error('not now')
  }
  const page = made({ authorize: fail, log: fail })
  expect((await page.fetch(new Request('http://localhost/'))).status).toBe(500)
})

test('a client that leaves while it sends a body causes no log entry', async () => {
  const log = vi.fn<(line: string) => void>()
  const page = made({ log })
  const server = createServer(page.handler).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [[request]] = await Promise.all([
    once(server, 'request') as Promise<[NodeJS.EventEmitter]>,
    once(client, 'connect').then(() => {
      const head = 'POST /lookup HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-origin\r\n'
      client.write(`${head}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{`)
    }),
  ])
  const gone = once(request, 'close')
  client.resetAndDestroy()
  await gone.catch(() => {})
  await turns()
  expect(log).not.toHaveBeenCalled()
})

test('a Fetch server that has already read the body gets an explanation', async () => {
  const request = posted('lookup', { limiter: 'api', key: 'u42' })
  await request.text()
  const answer = await made({}).fetch(request)
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.stringMatching('was read before'),
  ])
})
