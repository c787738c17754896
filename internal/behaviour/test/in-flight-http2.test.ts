// How much is in progress over HTTP/2, where a client can reset a stream and begin another at no
// cost.

import { type ClientHttp2Session, connect } from 'node:http2'
import { concurrency, memoryStore, RateLimiter } from '@weir/core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { moments } from './moments.js'
import { http2Servers } from './servers/http2.js'

const LIMIT = 20
const NAME = 'http2'

/** Counts the handlers of a server, which work until a test ends them, and has the options of its
 *  limiter. */
function world(maxHold?: number) {
  const store = memoryStore()
  const policy = concurrency({ name: 'in-flight', limit: LIMIT, holdTimeout: '30s' })
  const state = { running: 0, most: 0, ended: 0 }
  const { happens, when } = moments()
  const ends: (() => void)[] = []
  const work = async (path: string): Promise<void> => {
    state.running += 1
    state.most = Math.max(state.most, state.running)
    happens('handled', path)
    await new Promise<void>((resolve) => ends.push(resolve))
    state.running -= 1
    state.ended += 1
  }
  function end(): void {
    for (const done of ends.splice(0)) done()
  }
  const key = ({ url }: { readonly url: string }): Promise<string> => {
    happens('decided', url)
    return new Promise((resolve) => setImmediate(resolve, 'all'))
  }
  const limiter = new RateLimiter({ name: NAME, store, policy, shared: true })
  const left = async () => (await limiter.peek('all')).remaining
  return { state, work, end, when, left, options: { name: NAME, store, policy, key, maxHold } }
}

/** Opens a stream, and resets it when the promise is fulfilled, unless it has ended. */
function resetStream(
  session: ClientHttp2Session,
  path: string,
  when: Promise<unknown>,
): Promise<void> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': path })
    stream.on('error', () => {}).on('close', () => resolve())
    stream.resume().end()
    void when.then(() => stream.close(8))
  })
}

/** How a stream ended: the code of its reset, and whether it failed. */
function endOf(
  session: ClientHttp2Session,
): Promise<{ code: number | undefined; failed: boolean }> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': '/' })
    let failed = false
    stream.on('error', () => {
      failed = true
    })
    stream.on('close', () => resolve({ code: stream.rstCode, failed }))
    stream.resume().end()
  })
}

function statusOf(session: ClientHttp2Session): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' })
    let status = 0
    stream.on('response', (headers) => {
      status = Number(headers[':status'])
    })
    stream.on('error', reject).on('end', () => resolve(status))
    stream.resume().end()
  })
}

describe.each(http2Servers)('%s over HTTP/2', (_, start) => {
  test('500 streams that are reset never run more handlers than the limit, and release all slots', async () => {
    const its = world()
    const { state, end, when, left } = its
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    for (let batch = 0; batch < 10; batch += 1) {
      const sent = Array.from({ length: 50 }, (_, i) => {
        const path = `/${batch}-${i}`
        const resets = [Promise.resolve(), when('decided', path), when('handled', path)][i % 3]
        return resetStream(session, path, resets as Promise<void>)
      })
      await Promise.all(sent)
      end()
    }
    await vi.waitFor(async () => {
      end()
      expect(await left()).toBe(LIMIT)
    })
    expect(state.running).toBe(0)
    expect(state.most).toBeLessThanOrEqual(LIMIT)
    expect(state.ended).toBeGreaterThan(LIMIT)
    const last = statusOf(session)
    await vi.waitFor(() => expect(state.running).toBe(1))
    end()
    expect(await last).toBe(200)
  })

  test('streams of one session beyond the limit are refused', async () => {
    const its = world()
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    const statuses: number[] = []
    const all = Array.from({ length: 30 }, async () => statuses.push(await statusOf(session)))
    await vi.waitFor(() => expect(statuses).toEqual(Array(10).fill(429)))
    expect(its.state.running).toBe(LIMIT)
    its.end()
    await Promise.all(all)
    expect(statuses.slice(10)).toEqual(Array(LIMIT).fill(200))
    await vi.waitFor(async () => expect(await its.left()).toBe(LIMIT))
  })

  test('maxHold resets the stream, so the client sees that the response is not complete', async () => {
    const its = world(50)
    const session = connect(await start(its))
    onTestFinished(() => session.destroy())
    expect(await endOf(session)).toEqual({ code: 2, failed: true })
    its.end()
    await vi.waitFor(async () => expect(await its.left()).toBe(LIMIT))
    expect(session.closed).toBe(false)
  })
})
