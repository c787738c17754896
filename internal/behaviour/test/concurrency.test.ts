// Many requests at once: counts are exact, and each request has its own context.

import { AsyncLocalStorage } from 'node:async_hooks'
import { memoryStore, type Store } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { ask, serve, times } from './client.js'
import type { Exchange } from './servers/kind.js'
import { servers } from './servers/table.js'

describe.each(servers)('$name', (kind) => {
  let store: Store
  beforeEach(() => {
    store = memoryStore({ clock: fakeClock() })
  })

  test.each([
    ['at once', () => store],
    ['later', () => tardy(store)],
  ])('500 parallel requests, with a store that answers %s', async (_, storeOf) => {
    const { url } = await serve(kind, { limiters: [{ store: storeOf(), limit: 50, window: '1m' }] })
    const answers = await Promise.all(times(500).map((one) => ask(url, one)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(450)
    const left = answers
      .filter(({ status }) => status === 200)
      .map(({ body }) => JSON.parse(body).left)
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (__, i) => i))
  })

  test.each([
    ['at once', () => store],
    ['later', () => tardy(store)],
  ])('100 requests keep their contexts, with a store that answers %s', async (_, storeOf) => {
    const context = new AsyncLocalStorage<string>()
    const seen: string[] = []
    const own = ({ url }: Exchange) => {
      seen.push(`${url} ${context.getStore()}`)
      return url
    }
    const { url } = await serve(kind, {
      around: (exchange, next) => context.run(exchange.url, next),
      limiters: [
        {
          store: storeOf(),
          limit: 5,
          window: '1m',
          key: own,
          skip: (exchange) => own(exchange) === '',
        },
        {
          store: storeOf(),
          name: 'second',
          limit: 5,
          window: '1m',
          key: async (exchange) => own(exchange),
        },
      ],
      handler: ({ url: path }) => ({ body: `${path} ${context.getStore()}` }),
    })
    const paths = Array.from({ length: 100 }, (__, i) => `/${i}`)
    const bodies = await Promise.all(paths.map(async (path) => (await ask(url + path)).body))
    expect(bodies).toEqual(paths.map((path) => `${path} ${path}`))
    expect(seen).toHaveLength(300)
    for (const pair of seen) expect(pair).toMatch(/^(\/\d+) \1$/)
  })
})

/**
 * A store that answers all waiting requests together, later and from another context, as a store
 * with a connection does.
 */
function tardy(store: Store): Store {
  let waiting: (() => void)[] = []
  return {
    ...store,
    decide: (group) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) {
          setTimeout(() => {
            const all = waiting
            waiting = []
            for (const go of all) go()
          }, 5)
        }
        waiting.push(() => {
          try {
            resolve(store.decide(group))
          } catch (error) {
            reject(error)
          }
        })
      }),
  }
}
