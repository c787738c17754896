// Checks the packages in their published form: their types as each kind of importer resolves them,
// their package.json, and their sizes. Needs a build.
//
//   node tools/package-check.mjs [a folder with tarballs to use instead of packing]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packAll, packedIn } from '../tools/release/pack.mjs'
import { judgeSize, sizeOf } from './package-size.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'weir-check-'))
try {
  const given = process.argv[2]
  const packed = given === undefined ? packAll(root, work) : packedIn(root, resolve(given))
  for (const { manifest, tarball } of packed) {
    run(join(root, 'tools/node_modules/.bin/attw'), tarball)
    run(join(root, 'tools/node_modules/.bin/publint'), tarball, '--strict')
    console.log(judgeSize(manifest.name, sizeOf(tarball)))
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

function run(command, ...args) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit' })
}
