// The applications that use the packed packages: `packages/NAME/consumer.mts` of each package, the
// frameworks of the adapters, and how they are compiled: as strictly as possible, with the
// declarations (`skipLibCheck: false`). Errors in types of others are ignored.
import { spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { adaptersIn, publishedPackages } from '../tools/release/packages.mjs'
import { root } from './packages.mjs'

const STRICT = {
  target: 'es2022',
  // Neither `esnext` nor `dom`, which an application need not have.
  lib: ['es2022'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  esModuleInterop: true,
  skipLibCheck: false,
  noEmit: true,
}

/**
 * @param {string} folder
 * @param {string} title of the compilation
 * @param {object} options of the compiler, in addition
 * @param {string[]} files
 * @param {string} [compiler] the folder of its package
 * @returns {string[]} the errors in files of the packages or of the consumers
 */
export function errorsOf(folder, title, options, files, compiler = 'typescript') {
  const compilerOptions = { ...STRICT, ...options }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(folder, 'node_modules', compiler, 'bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
  const lines = stdout.split('\n').filter((line) => line.includes('error TS'))
  if (status !== 0 && lines.length === 0) throw new Error(`${title}: tsc failed: ${stdout}`)
  // An error about an option names no file.
  const ours = lines.filter((line) => !/^node_modules\/(?!@weir\/)/.test(line))
  const others = lines.length - ours.length
  const aside = others === 0 ? '' : `, and ${others} in types of others`
  console.log(`${title}: ${ours.length} errors${aside}`)
  return ours.map((line) => `${title}: ${line}`)
}

/**
 * Copies the consumers into a folder.
 * @param {string} folder
 * @param {string[]} [endings] the file is copied once for each
 * @returns {string[]} the names of the files
 */
export function copyConsumers(folder, endings = ['mts']) {
  return publishedPackages(root).flatMap(({ folder: from }) =>
    endings.map((ending) => {
      const file = `${basename(from)}.${ending}`
      copyFileSync(join(root, from, 'consumer.mts'), join(folder, file))
      return file
    }),
  )
}

/**
 * The framework of each adapter: what npm installs for its newest major, and for the types of its
 * oldest.
 */
export function frameworks() {
  return adaptersIn(root).flatMap(({ manifest }) =>
    Object.entries(manifest.peerDependencies ?? {}).map(([name, range]) => {
      const majors = [...range.matchAll(/\^(\d+)/g)].map(([, major]) => Number(major))
      const typed = `@types/${name}`
      const hasOwn = !(typed in (manifest.devDependencies ?? {}))
      const of = hasOwn ? name : typed
      const older = `${name}-oldest`
      return {
        name,
        newest: `${name}@${Math.max(...majors)}`,
        types: hasOwn ? [] : [`${typed}@${Math.max(...majors)}`],
        older: { folder: older, install: `${older}@npm:${of}@${Math.min(...majors)}` },
      }
    }),
  )
}
