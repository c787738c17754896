import { resolve } from 'node:path'
import { publicTypes } from '@weir/testkit/public-types'
import { expect, test } from 'vitest'

const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

test.each([
  'express-rate-limit',
  'hono-rate-limiter',
  'fastify-rate-limit',
  'nest-throttler',
  'rate-limiter-flexible',
  'better-auth',
  'koa-ratelimit',
])(
  'the public types of @weir/compat/%s change only on purpose',
  { timeout: 60_000 },
  async (entry) => {
    const types = publicTypes(resolve(import.meta.dirname, '..'), entry)
    await expect(types, UPDATE).toMatchFileSnapshot(`../api/compat-${entry}.api.md`)
  },
)
