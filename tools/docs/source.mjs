// The packages as TypeScript's compiler sees them, from their sources, so nothing has to be built.
// TypeScript 6 is so far the last version with a stable API for this.
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import typescript from '@typescript/typescript6'
import { adaptersIn, publishedPackages } from '../release/packages.mjs'

const { convertCompilerOptionsFromJson, createProgram, readConfigFile, SymbolFlags, sys } =
  typescript

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The name of each adapter's folder, which is the name of its framework. */
export const adapters = adaptersIn(root).map(({ folder }) => basename(folder))

/** The entries of all packages: the name in pages.mjs, what an application imports, the source. */
export const ENTRIES = new Map(
  publishedPackages(root).flatMap(({ folder, manifest }) => {
    const home = basename(folder)
    const [, list = ''] = /tools\/build\.mjs ([^&]*)$/.exec(manifest.scripts?.build ?? '') ?? []
    return list.split(' ').map((entry) => {
      const [path, source = path] = entry.split('=')
      const own = path === 'index' ? home : home === 'core' ? path : `${home}/${path}`
      const from = path === 'index' ? manifest.name : `${manifest.name}/${path}`
      return [own, { from, file: join(root, folder, 'src', `${source}.ts`) }]
    })
  }),
)

/** @param names of entries */
export function openSource(names) {
  const pathOf = (name) => ENTRIES.get(name).file
  const core = { '@weir/core': [pathOf('core')] }
  const rooms = ['packages/core/src/entries/*.ts', 'packages/core/src/*/index.ts']
  const { config } = readConfigFile(join(root, 'tsconfig.base.json'), sys.readFile)
  const { options } = convertCompilerOptionsFromJson(
    {
      ...config.compilerOptions,
      ...{ noEmit: true, experimentalDecorators: true, erasableSyntaxOnly: false },
      paths: { ...core, '@weir/core/*': rooms.map((path) => join(root, path)) },
    },
    root,
  )
  const program = createProgram(names.map(pathOf), options)
  const checker = program.getTypeChecker()
  const found = new Map()
  const declared = (symbol) =>
    symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  return {
    checker,
    /** The exports of an entry, by name. */
    exportsOf(entry) {
      const known = found.get(entry)
      if (known !== undefined) return known
      const module = checker.getSymbolAtLocation(program.getSourceFile(pathOf(entry)))
      const all = new Map(
        checker.getExportsOfModule(module).map((one) => [one.name, declared(one)]),
      )
      found.set(entry, all)
      return all
    },
  }
}
