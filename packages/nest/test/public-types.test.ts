import { resolve } from 'node:path'
import { publicTypes } from '@weir/testkit/public-types'
import { expect, test } from 'vitest'

const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

test('the public types of @weir/nest change only on purpose', { timeout: 60_000 }, async () => {
  const types = publicTypes(resolve(import.meta.dirname, '..'))
  await expect(types, UPDATE).toMatchFileSnapshot('../api/nest.api.md')
})
