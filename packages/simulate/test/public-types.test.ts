import { resolve } from 'node:path'
import { publicTypes } from '@weir/testkit/public-types'
import { expect, test } from 'vitest'

const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

test.each([
  ['index', 'simulate'],
  ['node', 'simulate-node'],
  ['cli', 'simulate-cli'],
])(
  'the public types of entry %s change only on purpose',
  { timeout: 60_000 },
  async (entry, name) => {
    const types = publicTypes(resolve(import.meta.dirname, '..'), entry)
    await expect(types, UPDATE).toMatchFileSnapshot(`../api/${name}.api.md`)
  },
)
