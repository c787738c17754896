// The folders of the simulation build on each other in one direction, in the order of README.md.

import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const order = [...readme.matchAll(/^\| `(\w+)` \|/gm)].map(([, folder]) => folder as string)
const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)

/** The command is in no folder, above all of them. */
const placeOf = (file: string): number => {
  const [folder = '', ...others] = normalize(file).split('/')
  return others.length === 0 ? order.length : order.indexOf(folder)
}

test('the README names all folders', () => {
  expect(files.filter((file) => placeOf(file) < 0)).toEqual([])
})

test('a folder imports only from itself and from those above it in the list', () => {
  const wrong = files.flatMap((file) => {
    const text = readFileSync(join(root, 'src', file), 'utf8')
    const imported = [...text.matchAll(/from '(\.[^']*)\.js'/g)].map(([, path]) =>
      normalize(join(file, '..', `${path}.ts`)),
    )
    const own = imported.filter((path) => !path.startsWith('..'))
    return own.filter((path) => placeOf(path) > placeOf(file)).map((path) => `${file}: ${path}`)
  })
  expect(wrong).toEqual([])
})
