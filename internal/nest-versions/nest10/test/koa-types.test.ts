// An app's code compiles in `strict` mode with the types of Koa 2, as it does with those of Koa 3
// in packages/koa, and its mistakes do not.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished, test } from 'vitest'

const installed = resolve(import.meta.dirname, '../node_modules')
const koa = resolve(import.meta.dirname, '../../../../packages/koa')

test('with @types/koa 2', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-types-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const project = {
    extends: join(koa, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      typeRoots: [join(koa, 'node_modules/@types')],
      paths: { koa: [join(installed, '@types/koa')] },
    },
    include: [join(koa, 'test/consumer')],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const tsc = join(installed, 'typescript/bin/tsc')
  // Rejects with the compiler's output.
  await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => {
    throw new Error(stdout)
  })
})
