import { resolve } from 'node:path'
import { publicTypes } from '@weir/testkit/public-types'
import { expect, test } from 'vitest'

const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

test.each([
  ['@weir/metrics', 'index', 'metrics.api.md'],
  ['@weir/metrics/prometheus', 'prometheus', 'metrics-prometheus.api.md'],
  ['@weir/metrics/otel', 'otel', 'metrics-otel.api.md'],
  ['@weir/metrics/nest', 'nest', 'metrics-nest.api.md'],
])(
  'the public types of %s change only on purpose',
  { timeout: 60_000 },
  async (_name, entry, file) => {
    const types = publicTypes(resolve(import.meta.dirname, '..'), entry)
    await expect(types, UPDATE).toMatchFileSnapshot(`../api/${file}`)
  },
)
