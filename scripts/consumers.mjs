// The applications that use the packed packages: `packages/NAME/consumer.mts` of each package, and
// the frameworks of the adapters.
import { copyFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { adaptersIn, publishedPackages } from '../tools/release/packages.mjs'
import { root } from './packages.mjs'

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
  return adaptersIn(root).flatMap(({ folder, manifest }) =>
    Object.entries(manifest.peerDependencies ?? {}).map(([name, range]) => {
      const majors = [...range.matchAll(/\^(\d+)/g)].map(([, major]) => Number(major))
      const typed = `@types/${name}`
      const hasOwn = !(typed in (manifest.devDependencies ?? {}))
      const of = hasOwn ? name : typed
      const older = `${name}-oldest`
      return {
        name,
        consumer: `${basename(folder)}.mts`,
        newest: `${name}@${Math.max(...majors)}`,
        types: hasOwn ? [] : [`${typed}@${Math.max(...majors)}`],
        older: { folder: older, install: `${older}@npm:${of}@${Math.min(...majors)}` },
      }
    }),
  )
}
