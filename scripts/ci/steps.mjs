// The steps of CI, as data, which `.ci/run` and the workflows in .github run. A step has
//
//   title     one line that says what it checks
//   needs     system packages: for each command that must be there, the package that has it
//   service   what it needs of GitHub or of the registry, if anything: such a step runs only in a
//             workflow, in a job that may do more than read, and so installs nothing
//   commands  what it runs, one after another; each an array, or an object:
//     run       the command and its arguments
//     cwd, env  its folder, and variables in addition to those of this process
//     tests     its output is that of vitest: tests are counted, and a warning is a failure
//     shown     its output is a report, which is always printed
//
// A step whose name ends with a colon is a function of the text after the colon, such as
// `mutation:3/24`. Nothing here needs an installation: the first step makes it.
import { readdirSync } from 'node:fs'
import { valkeyServerBinary } from '../../internal/testkit/servers/redis.mjs'

/**
 * @typedef {object} Command
 * @property {readonly string[]} run
 * @property {string} [cwd]
 * @property {Record<string, string> | (() => Record<string, string>)} [env]
 * @property {boolean} [tests]
 * @property {boolean} [shown]
 */

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {Record<string, string>} [needs]
 * @property {string} [service]
 * @property {readonly (readonly string[] | Command)[]} commands
 */

const npm = (/** @type {string[]} */ ...args) => ['npm', 'run', '--silent', ...args]
const redis = { 'redis-server': 'redis-server' }
const browser = { chromium: 'chromium', nginx: 'nginx-light' }
/** Fetched before the tests, which wait only a limited time for a server. */
const fetched = ['prometheus', 'postgres'].map((name) => [
  'node',
  `internal/testkit/servers/${name}.mjs`,
])

/**
 * What must hold before a change lands, in the order in which `.ci/run` checks it.
 * @type {Record<string, Step>}
 */
const change = {
  test: {
    title: 'npm test',
    needs: { ...redis, ...browser },
    commands: [...fetched, { run: ['npm', 'test'], tests: true }],
  },
  lint: {
    title: 'Lint: Biome, knip, luacheck, actionlint; types',
    needs: { luacheck: 'lua-check' },
    commands: [
      npm('build', '--', '--output-logs=errors-only'),
      npm('lint'),
      ['luacheck', '--quiet', 'packages/core/src'],
      ['node', 'internal/release/workflows/lint.mjs'],
      npm('typecheck'),
    ],
  },
  packages: {
    title: 'Packages: attw, publint, the oldest and the newest TypeScript, changesets',
    commands: [['node', 'scripts/ci/lockfile.mjs'], npm('package:check')],
  },
  release: {
    title: 'Release: a dry run, and consumers of the tarballs',
    commands: [{ run: npm('release'), shown: true }],
  },
  fleet: {
    title: 'Fleet: 500,000 simulated requests, and five faults of the list',
    commands: [
      npm('fleet', '--', '--requests', '500000'),
      ['node', 'internal/fleet/sabotage.mjs', '--only', '1,2,4,7,11'],
    ],
  },
  versions: {
    title: 'Newest Node, Valkey, ioredis 5',
    needs: redis,
    commands: [
      npm('build', '--', '--output-logs=errors-only'),
      { run: ['node', 'scripts/matrix.mjs', '--short'], tests: true },
    ],
  },
  figures: {
    title: 'Figures of docs/algorithms.md, not written',
    needs: redis,
    commands: [npm('figures', '--', '--short')],
  },
  faults: {
    title: 'Fault matrix, short form',
    needs: redis,
    commands: [
      npm('build', '--', '--filter=@weir/faults', '--output-logs=errors-only'),
      {
        run: ['npx', 'vitest', 'run', '--reporter=default'],
        cwd: 'internal/faults',
        env: { FAULTS: '1' },
        tests: true,
      },
    ],
  },
  clone: {
    title: 'npm start in a fresh clone with an empty home',
    commands: [['node', 'scripts/fresh-clone.mjs']],
  },
}

/**
 * Steps that take too long for each change, need another machine, or publish.
 * @type {Record<string, Step | ((argument: string) => Step)>}
 */
const others = {
  'test-valkey': {
    title: 'npm test on Valkey',
    needs: { ...redis, ...browser },
    commands: [
      ...fetched,
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
      npm('build', '--', '--filter=@weir/core', '--output-logs=errors-only'),
      {
        run: ['npx', 'vitest', 'run', '--project', 'unit'],
        cwd: 'packages/core',
        tests: true,
      },
    ],
  },
  'all-versions': {
    title: 'Node 20 and the newest, Redis and Valkey, ioredis 5 and 6: all combinations',
    needs: redis,
    commands: [
      npm('build', '--', '--output-logs=errors-only'),
      { run: ['node', 'scripts/matrix.mjs'], tests: true },
    ],
  },
  'last-release': {
    title: 'The last release and the present on one Redis: 100,000 steps',
    needs: redis,
    commands: [{ run: npm('versions'), shown: true }],
  },
  'all-typescripts': {
    title: 'Applications compiled by every TypeScript from 5.4 on',
    commands: [
      npm('build', '--', '--output-logs=errors-only'),
      { run: ['node', 'scripts/typescript-versions.mjs'], shown: true },
    ],
  },
  'all-faults': {
    title: 'The whole fault matrix, with ioredis, with leases, and with each other client',
    needs: redis,
    commands: [
      [],
      ['--leases'],
      ...['iovalkey', 'node-redis', 'glide'].map((library) => ['--library', library]),
    ].map((options) => ({ run: npm('faults', '--', ...options), shown: true })),
  },
  'long-walks': {
    title: 'Random walks of 100,000 steps: memory, Redis, a model and stats() agree',
    needs: redis,
    commands: [
      npm('build', '--', '--filter=@weir/core', '--output-logs=errors-only'),
      {
        run: [
          ...['npx', 'vitest', 'run', '--project', 'redis'],
          ...['ledgers', 'differential', 'stats-agree', 'lockout-model'],
        ],
        cwd: 'packages/core',
        env: { WEIR_STEPS: '100000' },
        tests: true,
      },
    ],
  },
  'long-fleet': {
    title: 'Fleet: 10,000,000 simulated requests',
    commands: [{ run: npm('fleet', '--', '--requests', '10000000'), shown: true }],
  },
  'all-sabotage': {
    title: 'Fleet: every fault of the list is found',
    commands: [
      npm('build', '--', '--filter=@weir/fleet', '--output-logs=errors-only'),
      { run: ['node', 'internal/fleet/sabotage.mjs'], shown: true },
    ],
  },
  'next-version': {
    title: 'The branch of the next version',
    commands: [{ run: ['node', 'internal/release/next-version.mjs', 'next-version'], shown: true }],
  },
  'version-pull-request': {
    title: 'The pull request of the next version',
    service: 'the right to push a branch and to open a pull request',
    commands: [
      { run: ['node', 'internal/release/version-pull-request.mjs', 'next-version'], shown: true },
    ],
  },
  records: {
    title: 'What a release is compared by, against what is built: public types, states of kernels',
    needs: redis,
    commands: [
      npm('build', '--', '--output-logs=errors-only'),
      ...readdirSync(new URL('../../packages', import.meta.url)).map((name) => ({
        run: ['npx', 'vitest', 'run', 'public-types', ...(name === 'core' ? ['stored-state'] : [])],
        cwd: `packages/${name}`,
        tests: true,
      })),
    ],
  },
  'release-for-publishing': {
    title: 'Release: what is published',
    service: 'the tag of a version, in a repository that says where it lives',
    commands: [{ run: npm('release', '--', '--for-publishing'), shown: true }],
  },
  stage: {
    title: 'Release: its tarballs are staged on the registry',
    service: 'an identity that the registry trusts (OIDC)',
    commands: [{ run: ['node', 'internal/release/stage.mjs', 'release'], shown: true }],
  },
  'release-assets': {
    title: 'Release: its page, with tarballs, sums and bill of materials',
    service: 'the right to make a release',
    commands: [{ run: ['node', 'internal/release/assets.mjs', 'release'], shown: true }],
  },
  'mutation:': (shard) => ({
    title: `Mutation of core, part ${shard}`,
    needs: redis,
    commands: [
      npm('build', '--', '--filter=@weir/core', '--output-logs=errors-only'),
      { run: ['node', 'tools/stryker/run.mjs', '--shard', shard], shown: true },
    ],
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
