// What runs on one major of Nest, and on one of Express and Koa: the tests of these packages, of
// the folder above, and in the folders `test` here. They take each package that the folder of the
// major depends on from there.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { adaptersIn } from '../../../tools/release/packages.mjs'
import { ALONE, SHARED } from '../../../tools/vitest.mjs'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const NEST = at('../../../packages/nest/test')
const BEHAVIOUR = at('../test')
/** They compile something, start processes with the newest major, or are judged by the clock. */
const NOT_OURS = ['public-types', 'types', 'warned', 'outages']
/** They look at the memory or the one-time warnings of a process. */
const APART = ['leaks', 'mounting', 'own-address', 'warnings']
const FASTIFY = at('./nest12/fastify.ts')

/** The tests in a folder, by name; those that need a process to themselves are another project. */
function project(name, dir, names, more = {}) {
  const missing = names.filter((each) => !existsSync(`${dir}/${each}.test.ts`))
  if (missing.length > 0) throw new Error(`${dir} has no tests named ${missing.join(', ')}`)
  const include = (some) => some.map((each) => `${dir}/${each}.test.ts`)
  const alone = names.filter((each) => APART.includes(each))
  const others = names.filter((each) => !APART.includes(each))
  return [
    { extends: true, test: { name, dir, include: include(others), ...more } },
    {
      extends: true,
      test: {
        name: `${name} alone`,
        dir,
        include: include(alone),
        ...more,
        ...ALONE,
        execArgv: ['--expose-gc'],
      },
    },
  ].filter(({ test }) => test.include.length > 0)
}

function testsIn(dir, holds = () => true) {
  return readdirSync(dir)
    .filter((file) => file.endsWith('.test.ts') && holds(readFileSync(`${dir}/${file}`, 'utf8')))
    .map((file) => file.replace('.test.ts', ''))
    .filter((name) => !NOT_OURS.includes(name))
}

/** The tests of all adapters of middlewares whose framework has majors. */
export function adapters() {
  return adaptersIn(at('../../..'))
    .filter(({ manifest }) => manifest.peerDependencies !== undefined)
    .flatMap(({ folder }) => adapter(basename(folder)))
}

/** The tests of an adapter; by default, all. */
export function adapter(name, names) {
  const dir = at(`../../../packages/${name}/test`)
  // As in the vitest.config.js of the package: a test can load @weir/core again.
  const ssr = name === 'nest' ? {} : { resolve: { conditions: ['module', 'node'] } }
  return project(name, dir, names ?? testsIn(dir)).map((each) => ({ ...each, ssr }))
}

/** Those of packages/nest for which the platform matters, on Fastify. */
export function nestOnFastify() {
  const names = ['http', 'in-flight', 'overload', 'overrides', 'shutdown', 'warnings']
  return project('nest on fastify', NEST, names, { alias: { './platform.js': FASTIFY } })
}

/** GraphQL, gRPC, gateways, messages. */
export function aroundNest() {
  const dir = at('./nest12/test')
  return project('around', dir, testsIn(dir))
}

/** Tracers, on the newest Nest that they know. */
export function tracers() {
  const dir = at('./nest11/test')
  return project('tracers', dir, testsIn(dir))
}

/** What runs once, whatever the majors: the snippets of documents, and clients. */
export function once() {
  const dir = at('./nest12/once')
  return project('once', dir, testsIn(dir), { maxConcurrency: 20 })
}

/** Those of the folder above that run on every server, on some servers; by default, on all. */
export function behaviour(...servers) {
  const names = testsIn(BEHAVIOUR, (text) => text.includes("from './servers/table.js'"))
  return project('behaviour', BEHAVIOUR, names, {
    alias: { './servers/table.js': at('./nest12/servers.ts') },
    env: servers.length > 0 ? { WEIR_SERVERS: servers.join(', ') } : {},
  })
}

/** Others of the folder above. */
export function behaviourOf(...names) {
  const alias = { './servers/platform.js': FASTIFY, './servers/http2.js': at('./nest12/http2.ts') }
  return project('one', BEHAVIOUR, names, { alias })
}

/** The configuration of a major. */
export function configOf({ dependencies }, ...projects) {
  return {
    resolve: { dedupe: Object.keys(dependencies) },
    test: { ...SHARED, projects: projects.flat() },
  }
}
