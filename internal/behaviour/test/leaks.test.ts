// Nothing of a request is kept after its response.

import { setTimeout as sleep } from 'node:timers/promises'
import { memoryStore } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { expect, test } from 'vitest'
import { ask, serve } from './client.js'
import type { Exchange, ServerKind, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

const REQUESTS = 60
/** The engine may keep the last few requests. */
const SLACK = 5

test.each(servers)('$name: requests are garbage after their responses', async (kind) => {
  const left = await alive(kind, [])
  // Node removes closed connections from its lists a little later.
  while (left() > SLACK) await collect()
})

// Otherwise the test above would prove nothing.
test('and this test would notice if they were not', async () => {
  const hoarding = { limit: 1, window: '1m', name: 'hoard', key: hoard } as const
  const left = await alive(servers[0] as ServerKind, [hoarding])
  for (let round = 0; round < 10; round += 1) await collect()
  expect(left()).toBe(REQUESTS)
  hoarded.length = 0
})

async function collect(): Promise<void> {
  await sleep(5)
  globalThis.gc?.()
}

/** Resolves when many requests are over, to a function: how many of them still exist. */
async function alive(kind: ServerKind, more: readonly Settings[]): Promise<() => number> {
  const store = memoryStore({ clock: fakeClock() })
  const requests: WeakRef<object>[] = []
  const limiters: Settings[] = [
    ...more.map((settings) => ({ ...settings, store })),
    {
      store,
      limit: 1_000,
      window: '1m',
      refundWhen: (_, { status }) => status >= 500,
      skip: noteIn(requests),
    },
    {
      store,
      name: 'second',
      limit: 1,
      window: '1m',
      key: async ({ url }) => url,
      onDenied: () => ({ status: 429, body: 'no' }),
    },
  ]
  const handler = ({ url }: Exchange) => {
    if (url.includes('throw')) throw new Error('broken')
    return { body: 'yes' }
  }
  const { url } = await serve(kind, { limiters, handler })
  for (let i = 0; i < REQUESTS; i += 1) await ask(`${url}/${i % 15}${i % 3 === 0 ? 'throw' : ''}`)
  return () => requests.filter((request) => request.deref() !== undefined).length
}

const hoarded: object[] = []

function hoard({ raw, url }: Exchange): string {
  hoarded.push(raw)
  return `${url} ${hoarded.length}`
}

/** A skip function that never skips, and records requests. */
function noteIn(requests: WeakRef<object>[]): (exchange: Exchange) => boolean {
  return ({ raw }) => {
    requests.push(new WeakRef(raw))
    return false
  }
}
