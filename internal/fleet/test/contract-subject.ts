// What the contracts of connections to one server and to a Cluster share: how a test opens a
// connection, and how its time passes.

import { waitUntil } from '@weir/testkit'
import { afterEach } from 'vitest'
import { processTime } from '../../../packages/core/src/base/time.js'
import type { Connection } from '../../../packages/core/src/redis/connection.js'
import type { World } from '../src/world/world.js'

/** A connection that has just begun. */
export interface Subject {
  readonly connection: Connection
  /** Waits until a promise has settled, and returns or throws its result. */
  settle<Value>(promise: Promise<Value>): Promise<Value>
  /** Waits until `isSo` returns true. */
  until(isSo: () => boolean): Promise<void>
  /** Moves the connection's clock by `ms`, and lets it handle what has arrived. */
  pass(ms: number): Promise<void>
  close(): Promise<void> | void
}

export interface SubjectOptions {
  readonly deadlineMs: number
  /** Whether there is no server. */
  readonly isDown?: boolean
}

export type Open<Of extends Subject> = (options: SubjectOptions) => Promise<Of>

/** Opens connections that are closed after each test. */
export function opener<Of extends Subject>(open: Open<Of>) {
  const opened: Of[] = []
  afterEach(async () => {
    for (const subject of opened.splice(0)) await subject.close()
  })
  return async (options: Partial<SubjectOptions> = {}): Promise<Of> => {
    const subject = await open({ deadlineMs: 100, ...options })
    opened.push(subject)
    return subject
  }
}

export const isReady = ({ connection }: Subject): boolean => connection.unready() === undefined

export const MINUTE_US = 60_000_000
export const LATENCY = { leastUs: 50, mostUs: 2_000 }

export function inVirtualTime(world: World): Omit<Subject, 'connection'> {
  async function until(isSo: () => boolean): Promise<void> {
    await world.runUntil(world.nowUs + MINUTE_US, isSo)
    if (!isSo()) throw new Error('not within a minute')
  }
  return {
    until,
    async settle(promise) {
      let isSettled = false
      const settled = () => {
        isSettled = true
      }
      promise.then(settled, settled)
      await until(() => isSettled)
      return promise
    },
    pass: (ms) => world.runFor(ms * 1_000),
    close() {},
  }
}

/** A clock that the tests move; everything else is real. */
export function inRealTime() {
  let nowMs = 0
  return {
    time: { ...processTime, nowMs: () => nowMs },
    settle: <Value>(promise: Promise<Value>) => promise,
    until: (isSo: () => boolean) => waitUntil('it is so', async () => isSo()),
    async pass(ms: number) {
      nowMs += ms
      // Until the event loop has handled all present events.
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}
