// The steps of CI, as data, which `.ci/run` and the workflows in .github run. A step has
//
//   title     one line that says what it checks
//   needs     system packages: for each command that must be there, the package that has it
//   service   what it needs of GitHub or of the registry, if anything: such a step runs only in a
//             workflow, in a job that may do more than read, and so installs nothing
//   bare      it needs no installation and no build, and nothing runs beside it; every other step
//             begins after `prepare`
//   waits     for servers, most of its time: such steps run one after another beside two others
//   clock     it judges real time: nothing else runs meanwhile but steps that do so too, since they
//             wait most of the time
//   alone     it judges real time, and nothing runs beside it: such steps come last
//   commands  what it runs, one after another; each an array, or an object:
//     run       the command and its arguments
//     cwd, env  its folder, and variables in addition to those of this process
//     tests     its output is that of vitest: tests are counted, and a warning is a failure
//     shown     its output is a report, which is always printed
//     figure    the lines of its output that are printed at the end
//
// A step whose name ends with a colon is a function of the text after the colon, such as
// `mutation:3/24`.
import { readdirSync } from 'node:fs'
import { parse } from 'node:path'
import { newestServerBinary, valkeyServerBinary } from '../../internal/testkit/servers/redis.mjs'

const CLIENTS = new URL('../../internal/fleet/src/faults/client/libraries/', import.meta.url)
const OTHER_CLIENTS = readdirSync(CLIENTS)
  .map((file) => parse(file).name)
  .filter((name) => name !== 'ioredis')

/**
 * @typedef {object} Command
 * @property {readonly string[]} run
 * @property {string} [cwd]
 * @property {Record<string, string> | (() => Record<string, string>)} [env]
 * @property {boolean} [tests]
 * @property {boolean} [shown]
 * @property {RegExp} [figure]
 */

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {Record<string, string>} [needs]
 * @property {string} [service]
 * @property {boolean} [bare]
 * @property {boolean} [waits]
 * @property {boolean} [clock]
 * @property {boolean} [alone]
 * @property {readonly (readonly string[] | Command)[]} commands
 */

const npm = (/** @type {string[]} */ ...args) => ['npm', 'run', '--silent', ...args]
const node = (/** @type {string[]} */ ...args) => ['node', ...args]
/** The first npm that can stage is 11.15, and Node may have an older one. */
const STAGE =
  'for each in ./*.tgz; do npx --yes npm@11.19.1 stage publish "$each" --access public || exit; done'
const DRAFT = [
  'test -n "$GITHUB_REF_NAME" || { echo GITHUB_REF_NAME names no tag >&2; exit 2; }',
  'gh release create "$GITHUB_REF_NAME" release/* --verify-tag --draft --generate-notes',
].join('; ')
const FLEET = 'internal/fleet/dist/internal/fleet/src/run.js'
const FAULTS = 'internal/fleet/dist/internal/fleet/src/faults/run.js'

/**
 * The tests of packages that name this step.
 * @param {string} name
 * @param {string[]} files parts of their names, or options of vitest; without any, all
 */
const testsOf = (name, ...files) => ({
  run: node('node_modules/vitest/vitest.mjs', 'run', ...files),
  env: { WEIR_STEP: name },
  tests: true,
})

/**
 * Tests that judge real time, file by file.
 * @param {string} name
 * @param {string[]} files
 */
const judging = (name, ...files) => {
  const { env, ...tests } = testsOf(name, ...files)
  return { ...tests, env: { ...env, VITEST_MAX_WORKERS: '1' } }
}

/**
 * On the newest server of a kind.
 * @param {'redis' | 'valkey'} kind
 * @param {Record<string, string>} [env]
 */
const on = (kind, env) => () => ({ ...env, REDIS_SERVER_BIN: newestServerBinary(kind) })

/** @param {ReturnType<typeof testsOf>} tests */
const weekly = ({ env, ...tests }) => ({ ...tests, env: { ...env, WEIR_WEEKLY: '1' } })

/** Before all other steps that are not `bare`. */
export const PREPARE = {
  title: 'Everything installed and built',
  commands: [npm('build')],
}

/**
 * What must hold before a change lands. Of steps that run side by side, the longest begin first, so
 * that all end together.
 * @type {Record<string, Step>}
 */
const change = {
  test: {
    title: 'npm test, on the bare clone',
    bare: true,
    commands: [{ run: ['npm', 'test'], tests: true, figure: /^weir: installed in/ }],
  },
  start: {
    title: 'npm start, in a fresh clone with an empty home',
    bare: true,
    commands: [{ run: node('scripts/fresh-clone.mjs'), figure: /^fresh clone/ }],
  },
  release: {
    title: 'Documents, workflows; a release, dry: consumers, attw, publint, old TypeScript',
    commands: [
      testsOf('release'),
      { run: npm('release', '--', '--built'), shown: true },
      node('tools/package-check.mjs', 'release'),
    ],
  },
  browser: {
    title: 'The dashboard and the playground in a browser',
    needs: { nginx: 'nginx-light' },
    commands: [testsOf('browser')],
  },
  majors: {
    title: 'Other majors of the frameworks, and what is used with them',
    commands: [testsOf('majors')],
  },
  versions: {
    title: 'Newest Node, Redis, Valkey, ioredis 5; stored state of the last release',
    commands: [
      testsOf('versions'),
      { run: node('scripts/other-versions.mjs', '--short'), tests: true },
    ],
  },
  examples: { title: 'Examples', commands: [testsOf('examples')] },
  fleet: {
    title: 'Fleet: its tests, 40,000 simulated requests, and a fault of the list',
    commands: [
      testsOf('fleet'),
      node(FLEET, '--requests', '40000'),
      node('internal/fleet/sabotage.mjs', '--only', '1'),
    ],
  },
  lint: {
    title: 'Lint: Biome, knip, luacheck, actionlint; types',
    needs: { luacheck: 'lua-check' },
    commands: [
      npm('lint'),
      ['luacheck', '--quiet', 'packages/core/src'],
      node('tools/release/workflows/lint.mjs'),
      node('scripts/typecheck.mjs', '--singleThreaded'),
    ],
  },
  incumbents: {
    title: 'Weir under other limiters, and beside them',
    commands: [testsOf('incumbents')],
  },
  benchmarks: {
    title: 'Four benchmarks run; allocations',
    commands: [testsOf('benchmarks')],
  },
  packages: {
    title: 'Packages as published: public types, entries, bundles; the lock file, changesets',
    commands: [node('scripts/ci/lockfile.mjs'), testsOf('packages'), node('tools/changesets.mjs')],
  },
  clients: {
    title: 'Other clients of Redis; a Cluster that changes under load',
    commands: [testsOf('clients')],
  },
  monitoring: {
    title: 'Metrics in a real Prometheus',
    waits: true,
    commands: [testsOf('monitoring')],
  },
  kit: { title: 'The test kit', waits: true, commands: [testsOf('kit')] },
  faults: {
    title: 'Promises about real time: the fault matrix on the newest Redis',
    clock: true,
    commands: [{ ...judging('faults'), env: on('redis', judging('faults').env) }],
  },
  outages: {
    title: 'Promises about real time: outages of real servers',
    clock: true,
    commands: [judging('outages', '--project', 'core outages', '--project', 'compat outages')],
  },
  freezes: {
    title: 'Promises about real time: clients whose server freezes, and errors of Valkey',
    clock: true,
    commands: [
      judging('outages', '--project', 'fleet outages', '--project', 'behaviour outages'),
      {
        run: node(FAULTS, '--short', '--jobs', '3', '--rows', '6,8,9 READONLY'),
        env: on('valkey'),
      },
    ],
  },
  calm: {
    title: 'What needs the machine for itself: rows of the fault matrix, ratios of costs',
    alone: true,
    commands: [judging('calm')],
  },
}

/**
 * Steps that take too long for each change, need another machine, or publish.
 * @type {Record<string, Step | ((argument: string) => Step)>}
 */
const others = {
  'test-valkey': {
    title: 'npm test on Valkey',
    bare: true,
    commands: [
      {
        run: ['npm', 'test'],
        env: () => ({ REDIS_SERVER_BIN: valkeyServerBinary() }),
        tests: true,
      },
    ],
  },
  memory: {
    title: 'Tests of core that need no server',
    commands: [
      {
        run: node('node_modules/vitest/vitest.mjs', 'run', '--project', 'core unit'),
        tests: true,
      },
    ],
  },
  'all-versions': {
    title: 'Every server with every client, on the newest Node; every Nest, every other limiter',
    commands: [
      { run: ['node', 'scripts/other-versions.mjs'], tests: true },
      weekly(testsOf('majors')),
      weekly(testsOf('incumbents')),
    ],
  },
  'last-release': {
    title: 'The last release and the present on one Redis: 20 rounds',
    commands: [{ run: npm('versions'), shown: true }],
  },
  'all-typescripts': {
    title: 'Applications compiled by every TypeScript from 5.4 on',
    commands: [{ run: ['node', 'scripts/typescript-versions.mjs'], shown: true }],
  },
  'fetch-frameworks': {
    title: 'Next, SvelteKit, Astro and Elysia with the snippets of docs/fetch.md',
    commands: [{ run: ['node', 'scripts/fetch-frameworks.mjs'], shown: true }],
  },
  'all-faults': {
    title: 'The whole fault matrix, with ioredis, with leases, and with each other client',
    commands: [
      ...[[], ['--leases'], ...OTHER_CLIENTS.map((library) => ['--library', library])].map(
        (options) => ({ run: npm('faults', '--', ...options), shown: true }),
      ),
      weekly(judging('faults', 'sabotage')),
      weekly(judging('outages', 'outage.test')),
    ],
  },
  'long-walks': {
    title: 'The tests of `npm test`, the fleet and the examples with long walks, from new seeds',
    commands: ['test', 'fleet', 'examples'].map((name) => weekly(testsOf(name))),
  },
  'long-fleet': {
    title: 'Fleet: 10,000,000 simulated requests',
    commands: [{ run: npm('fleet', '--', '--requests', '10000000'), shown: true }],
  },
  'all-sabotage': {
    title: 'Fleet: every fault of the list is found',
    commands: [{ run: ['node', 'internal/fleet/sabotage.mjs'], shown: true }],
  },
  'all-benchmarks': {
    title: 'Benchmarks: every scenario runs',
    commands: [weekly(testsOf('benchmarks', 'smoke'))],
  },
  'release-tools': {
    title: 'How packages are packed',
    commands: [testsOf('release-tools')],
  },
  records: {
    title: 'What a release is compared by, against what is built: public types',
    commands: [testsOf('packages', 'public-types')],
  },
  'release-for-publishing': {
    title: 'Release: what is published',
    service: 'the tag of a version, in a repository that says where it lives',
    commands: [{ run: npm('release', '--', '--for-publishing'), shown: true }],
  },
  stage: {
    title: 'Release: its tarballs are staged on the registry',
    bare: true,
    service: 'an identity that the registry trusts (OIDC)',
    commands: [
      { run: ['sha256sum', '--check', 'SHA256SUMS'], cwd: 'release' },
      { run: ['sh', '-c', STAGE], cwd: 'release', shown: true },
    ],
  },
  'release-assets': {
    title: 'Release: its page, with tarballs, sums and bill of materials',
    bare: true,
    service: 'the right to make a release',
    commands: [{ run: ['sh', '-c', DRAFT], shown: true }],
  },
  'mutation:': (shard) => ({
    title: `Mutation of core, part ${shard}`,
    commands: [{ run: ['node', 'tools/stryker/run.mjs', '--shard', shard], shown: true }],
  }),
}

/** The names of the steps that run before a change lands. */
export const CHANGE = Object.keys(change)

/** The names of all steps. */
export const ALL = [...CHANGE, ...Object.keys(others)]

/**
 * @param {string} name
 * @returns {Step}
 * @throws {Error} with a message that names all steps
 */
export function stepOf(name) {
  const [first = '', ...rest] = name.split(':')
  const all = { ...change, ...others }
  const step = all[rest.length === 0 ? first : `${first}:`]
  if (step === undefined) throw new Error(`there is no step "${name}"; there are ${ALL.join(', ')}`)
  return typeof step === 'function' ? step(rest.join(':')) : step
}
