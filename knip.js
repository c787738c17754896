// What knip takes for entries: of the packages, what their scripts `build` name, and their tests.
import { readdirSync, readFileSync } from 'node:fs'

/** Entries that no build names. @type {Record<string, string[]>} */
const OWN = {
  core: [
    'src/entries/*.ts',
    'src/algorithms/*/{description,repository}.ts',
    'src/redis/clients/*.ts',
  ],
  dashboard: ['src/page/main.ts'],
  metrics: ['monitoring/**/*.{ts,mjs}'],
  simulate: ['playground/src/main.ts', 'playground/test/*.ts'],
}

const folder = new URL('packages/', import.meta.url)
const packages = Object.fromEntries(
  readdirSync(folder).map((name) => {
    const manifest = readFileSync(new URL(`${name}/package.json`, folder), 'utf8')
    const { build } = JSON.parse(manifest).scripts
    const built = /** @type {string} */ (build).split('tools/build.mjs ')[1]?.split(' ') ?? []
    const sources = built.map((entry) => `src/${entry.split('=').at(-1)}.ts`)
    const entry = [...sources, ...(OWN[name] ?? []), 'test/**/*.{ts,mjs}', 'consumer.mts']
    return [`packages/${name}`, { entry }]
  }),
)

export default {
  ignoreExportsUsedInFile: {
    interface: true,
    type: true,
  },
  ignoreBinaries: ['apt-get', 'ldd', 'mkfifo', 'taskset', 'flock'],
  workspaces: {
    '.': {
      entry: ['scripts/*.{mjs,cjs}', 'scripts/ci/{run,lockfile}.mjs', 'vitest.config.js'],
      ignore: ['scripts/consumer.cjs'],
      vitest: false,
    },
    'internal/benchmarks': {
      entry: [
        'src/run.ts',
        'src/{memory,versions}/main.ts',
        'src/http/{framework,middleware}-main.ts',
        'src/redis/subject-main.ts',
        'test/*.ts',
      ],
    },
    'internal/fleet': {
      entry: [
        'src/{run,faults/run,versions/run}.ts',
        'src/faults/client/{main,libraries/*}.ts',
        'sabotage.mjs',
        'test/**/*.ts',
      ],
    },
    'internal/behaviour': {
      entry: ['test/**/*.ts', 'snippets/*.{mjs,ts}'],
      ignoreDependencies: [
        '@koa/router',
        '@nestjs/(config|testing)',
        '@hono/node-server',
        '@weir/.+',
        'hono',
      ],
    },
    'internal/behaviour/majors/nest12': {
      entry: ['*.ts', '{test,migration,serverless}/*.ts', 'once/*.{mjs,ts}'],
      ignoreDependencies: [
        '@koa/router',
        '@modelcontextprotocol/server',
        'zod',
        '@nestjs/(config|platform-express|testing)',
        '@trpc/server',
        'graphql-(query-complexity|yoga)',
        '@weir/.+',
        'bun',
        'deno',
      ],
    },
    'examples/nest': {
      entry: ['src/main.ts', 'test/**/*.js'],
    },
    'internal/testkit': {
      entry: [
        'src/{browser,index,page,vitest}.ts',
        'src/virtual-time/index.ts',
        'servers/*.{mjs,d.mts}',
        'test/**/*.ts',
      ],
    },
    'examples/*': {
      entry: ['src/*.js', 'test/**/*.{js,ts}'],
    },
    tools: {
      entry: ['**/*.{mjs,js}', 'release/{test,published}/*.ts'],
      ignoreDependencies: [
        '@weir/.+',
        '@biomejs/biome',
        '@changesets/cli',
        '@stryker-mutator/(core|vitest-runner)',
        'publint',
        'turbo',
      ],
    },
    'internal/behaviour/majors/nest11': {
      entry: ['test/traced.cjs'],
    },
    'internal/behaviour/majors/nest10': {
      ignoreDependencies: ['.+'],
    },
    ...packages,
  },
}
