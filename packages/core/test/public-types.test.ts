import { resolve } from 'node:path'
import { publicTypes } from '@weir/testkit/public-types'
import { expect, test } from 'vitest'

const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

test.each([
  ['@weir/core', 'index', 'core.api.md'],
  ['@weir/core/http', 'http', 'core-http.api.md'],
  ['@weir/core/store', 'store', 'core-store.api.md'],
  ['@weir/core/node-redis', 'node-redis', 'core-node-redis.api.md'],
  ['@weir/core/glide', 'glide', 'core-glide.api.md'],
  ['@weir/core/testing', 'testing', 'core-testing.api.md'],
])(
  'the public types of %s change only on purpose',
  { timeout: 60_000 },
  async (_name, entry, file) => {
    const types = publicTypes(resolve(import.meta.dirname, '..'), entry)
    await expect(types, UPDATE).toMatchFileSnapshot(`../api/${file}`)
  },
)
