// The packages as TypeScript's compiler sees them, from their sources: nothing has to be built.
import { join } from 'node:path'
import { API, SymbolFlags } from 'typescript/unstable/sync'

const ENTRIES = {
  core: 'packages/core/src/index.ts',
  http: 'packages/core/src/http/index.ts',
  store: 'packages/core/src/database/index.ts',
  testing: 'packages/core/src/testing/index.ts',
  express: 'packages/express/src/index.ts',
  koa: 'packages/koa/src/index.ts',
  nest: 'packages/nest/src/index.ts',
  metrics: 'packages/metrics/src/index.ts',
  prometheus: 'packages/metrics/src/prometheus.ts',
  otel: 'packages/metrics/src/otel.ts',
  'nest-metrics': 'packages/metrics/src/nest.ts',
}

export function openSource(root) {
  const config = join(root, 'tsconfig.reference.json')
  const pathOf = (name) => join(root, ENTRIES[name])
  const compilerOptions = {
    ...{ noEmit: true, types: ['node'], experimentalDecorators: true, erasableSyntaxOnly: false },
    paths: {
      '@weir/core': [pathOf('core')],
      '@weir/core/*': [
        join(root, 'packages/core/src/*.ts'),
        join(root, 'packages/core/src/*/index.ts'),
      ],
    },
  }
  const files = Object.keys(ENTRIES).map(pathOf)
  const text = JSON.stringify({ extends: './tsconfig.base.json', compilerOptions, files })
  const api = new API({
    cwd: root,
    fs: {
      readFile: (path) => (path === config ? text : undefined),
      fileExists: (path) => (path === config ? true : undefined),
    },
  })
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  const { checker, program } = project
  const found = new Map()
  const declared = (symbol) =>
    symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  return {
    checker,
    /** What an entry exports, by name. */
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
    /** Where a symbol is declared. */
    nodesOf: (symbol) => symbol.declarations.map((each) => each.resolve(project)),
    close: () => api.close(),
  }
}
