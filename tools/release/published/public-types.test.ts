// The types of each entry of each package, as they are built. `npm run types:update` records them
// in packages/*/api, where a review sees what changed for users.

import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { publishedPackages } from '../packages.mjs'
import { typesOf } from './public-types.js'

const root = join(import.meta.dirname, '../../..')
const UPDATE = 'api/ has what was public before; if the change is meant: npm run types:update'

const entries = publishedPackages(root).flatMap(({ folder, manifest }) =>
  Object.entries(manifest.exports ?? {}).flatMap(([path, conditions]) => {
    const [declarations] = /[^"]*\.d\.cts/.exec(JSON.stringify(conditions)) ?? []
    if (declarations === undefined) return []
    const name = join(manifest.name, path)
    const report = `${name.replace('@weir/', '').replaceAll('/', '-')}.api.md`
    return {
      name,
      folder: join(root, folder),
      file: join(root, folder, declarations),
      report: join(root, folder, 'api', report),
    }
  }),
)
const publicTypes = typesOf(entries)

test.each(entries)('the public types of $name change only on purpose', async (entry) => {
  await expect(publicTypes(entry), UPDATE).toMatchFileSnapshot(entry.report)
})

test('a report is there for each entry, and for nothing else', () => {
  const reports = publishedPackages(root).flatMap(({ folder }) =>
    readdirSync(join(root, folder, 'api')).filter((file) => file.endsWith('.md')),
  )
  expect(reports.sort()).toEqual(entries.map(({ report }) => basename(report)).sort())
})
