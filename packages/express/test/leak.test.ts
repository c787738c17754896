// Nothing of a request is kept after its response.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Agent, request } from 'undici'
import { expect, test } from 'vitest'
import { fixedWindow, memoryStore, rateLimit, tokenBucket } from '../src/index.js'
import { serve, until, VERSIONS } from './serve.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

test.each(VERSIONS)(
  '%s: requests, responses and decisions can be collected once the response is sent',
  async (_, express) => {
    const seen: WeakRef<object>[] = []
    const store = memoryStore()
    const later = { decide: async (group: never) => store.decide(group), reset: () => undefined }
    const app = express()
      .use((req, res, next) => {
        seen.push(new WeakRef(req), new WeakRef(res))
        next()
      })
      .use(
        rateLimit({
          name: 'a',
          limit: 1e6,
          window: '1m',
          refundWhen: (_, { status }) => status === 404,
        }),
      )
      .use(
        rateLimit({
          name: 'b',
          store: later,
          cost: async () => 1,
          policy: (req) => fixedWindow({ limit: req.url.length, window: '1m' }),
        }),
      )
      .use(
        rateLimit({
          name: 'c',
          policy: tokenBucket({ capacity: 20, refill: 1, every: '1h' }),
          refundWhen: () => false,
        }),
      )
      .get('/', (req, res) => {
        for (const decision of [req.rateLimit, ...(req.rateLimit?.all ?? [])])
          seen.push(new WeakRef(decision as object))
        res.send('ok')
      })
    const { url } = await serve(app)
    const dispatcher = new Agent({ connections: 4 })
    for (let i = 0; i < 40; i += 1) {
      const { body } = await request(`${url}/${i % 4 ? '' : `?${'x'.repeat(60)}`}`, { dispatcher })
      await body.dump()
    }
    expect(seen.length).toBeGreaterThan(80)
    // Node keeps the last request of each connection until the next one comes.
    await until(() => {
      gc()
      return seen.filter((ref) => ref.deref() !== undefined).length <= 4 * 6
    })
    await dispatcher.destroy()
    await until(() => {
      gc()
      return seen.every((ref) => ref.deref() === undefined)
    })
  },
)
