// Checks the packages in their published form: their types as each kind of importer resolves them,
// their package.json, and their sizes. Needs a build.
//
//   node tools/package-check.mjs [a folder with tarballs to use instead of packing]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { packAll, packedIn } from '../tools/release/pack.mjs'
import { judgeSize, sizeOf } from './package-size.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'weir-check-'))
try {
  const given = process.argv[2]
  const packed = given === undefined ? packAll(root, work) : packedIn(root, resolve(given))
  for (const { manifest, tarball } of packed) {
    const { types, problems } = await checkPackage(
      createPackageFromTarballData(readFileSync(tarball)),
    )
    if (!types || problems.length > 0)
      throw new Error(`types of ${manifest.name}: ${JSON.stringify(problems, undefined, 2)}`)
    const publint = join(root, 'tools/node_modules/.bin/publint')
    execFileSync(publint, [tarball, '--strict'], { cwd: root, stdio: 'inherit' })
    console.log(judgeSize(manifest.name, sizeOf(tarball)))
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}
