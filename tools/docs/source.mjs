// The packages as TypeScript's compiler sees them, from their sources, so nothing has to be built.
// TypeScript 6 is so far the last version with a stable API for this.
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import typescript from '@typescript/typescript6'
import { adaptersIn } from '../release/packages.mjs'

const { convertCompilerOptionsFromJson, createProgram, readConfigFile, SymbolFlags, sys } =
  typescript

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The name of each adapter's folder, which is the name of its framework. */
export const adapters = adaptersIn(root).map(({ folder }) => basename(folder))

const ENTRIES = {
  core: 'packages/core/src/index.ts',
  http: 'packages/core/src/http/index.ts',
  live: 'packages/core/src/entries/live.ts',
  adaptive: 'packages/core/src/entries/adaptive.ts',
  store: 'packages/core/src/entries/store.ts',
  'node-redis': 'packages/core/src/redis/clients/node-redis.ts',
  glide: 'packages/core/src/redis/clients/glide.ts',
  testing: 'packages/core/src/testing/index.ts',
  ...Object.fromEntries(adapters.map((name) => [name, `packages/${name}/src/index.ts`])),
  nest: 'packages/nest/src/index.ts',
  dashboard: 'packages/dashboard/src/index.ts',
  metrics: 'packages/metrics/src/index.ts',
  prometheus: 'packages/metrics/src/prometheus.ts',
  otel: 'packages/metrics/src/otel.ts',
  'nest-metrics': 'packages/metrics/src/nest.ts',
}

export function openSource() {
  const pathOf = (name) => join(root, ENTRIES[name])
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
  const program = createProgram(Object.keys(ENTRIES).map(pathOf), options)
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
