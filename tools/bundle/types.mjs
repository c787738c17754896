// The published declarations: a file for each entry, and one for what several share. A class is
// declared in one place, since TypeScript distinguishes classes with private fields by their
// declaration.
import { writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { conditionsOf, importedOf } from './bundle.mjs'

/** @param {readonly (readonly [name: string, source: string])[]} all the entries */
export async function bundleTypes(all) {
  const entries = importedOf(all)
  // ESM then has the classes of CommonJS.
  const hasOneCopy = entries.some(([name]) => conditionsOf(name).module !== undefined)
  const build = await rollup({
    input: Object.fromEntries(entries.map(([name, source]) => [name, `build/${source}.d.ts`])),
    external: (id) => !id.startsWith('.') && !isAbsolute(id) && !id.startsWith('build/'),
    // `external` alone decides which types are external: an earlier version is built below
    // node_modules.
    plugins: [dts({ respectExternal: true })],
    onwarn({ message }) {
      throw new Error(message)
    },
  })
  // A type that two entries share needs no file of its own, unless an entry would then import a
  // peer that it does not need, and that may not be installed.
  const { output } = await build.generate({ format: 'es' })
  const isOfPeer = (id) => !/^(@weir\/|node:)|\.d\.ts$|\.js$/.test(id)
  const hasPeer = output.some(({ imports }) => imports.some(isOfPeer))
  for (const ending of hasOneCopy ? ['.d.cts'] : ['.d.cts', '.d.ts'])
    await build.write({
      dir: 'dist',
      format: 'es',
      entryFileNames: `[name]${ending}`,
      chunkFileNames: ({ name }) => `chunks/${name.replace(/\.d$/, '')}${ending}`,
      minifyInternalExports: false,
      experimentalMinChunkSize: hasPeer ? 1 : 3_000,
    })
  await build.close()
  if (!hasOneCopy) return
  for (const [name] of entries)
    writeFileSync(join('dist', `${name}.d.ts`), `export * from './${name}.cjs'\n`)
}
