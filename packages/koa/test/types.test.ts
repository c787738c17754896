// An app's code compiles in `strict` mode with the types of Koa 3 and of Koa 2, and its mistakes do
// not.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished, test } from 'vitest'

const { resolve } = createRequire(import.meta.url)
const root = join(import.meta.dirname, '..')

test.each(['koa', 'koa2'])(
  'with @types/%s',
  async (types) => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-types-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const project = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        typeRoots: [join(root, 'node_modules/@types')],
        paths: { koa: [join(root, 'node_modules/@types', types)] },
      },
      include: [join(root, 'test/consumer')],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
    const tsc = join(dirname(resolve('typescript/package.json')), 'bin/tsc')
    // Rejects with the compiler's output.
    await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => {
      throw new Error(stdout)
    })
  },
  30_000,
)
