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
  expect(await alive(kind, [])).toBeLessThanOrEqual(SLACK)
})

// Otherwise the test above would prove nothing.
test('and this test would notice if they were not', async () => {
  const hoarding = { limit: 1, window: '1m', name: 'hoard', key: hoard } as const
  expect(await alive(servers[0] as ServerKind, [hoarding])).toBe(REQUESTS)
  hoarded.length = 0
})

/** How many of many requests still exist when all is over. */
async function alive(kind: ServerKind, more: readonly Settings[]): Promise<number> {
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
  // Node removes closed connections from its lists a little later.
  const left = () => requests.filter((request) => request.deref() !== undefined).length
  for (let round = 0; round < 3 || (round < 20 && left() > SLACK); round += 1) {
    await sleep(20)
    globalThis.gc?.()
  }
  return left()
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
