// All tests run on Express, and again on Fastify, except those that know only one of them: GraphQL
// is served by Apollo's integration of Express. Files share a process, since loading Nest takes
// longer than most of them; files about what a process reports once have a separate one.
const EXPRESS_ONLY = ['**/graphql.test.ts', '**/federation.test.ts', '**/public-types.test.ts']
const ALONE = '**/warnings.test.ts'

/**
 * @param {string} folder of the tests, with a trailing slash, or ''
 * @param {readonly string[]} exclude tests that do not run at all
 */
export function platforms(folder, exclude = []) {
  const project = (name, more) => ({ extends: true, test: { name, ...more } })
  const shared = { include: [`${folder}*.test.ts`], isolate: false }
  return [
    project('express', { ...shared, exclude: [ALONE, ...exclude] }),
    project('fastify', {
      ...shared,
      exclude: [ALONE, ...EXPRESS_ONLY, ...exclude],
      env: { WEIR_NEST_PLATFORM: 'fastify' },
    }),
    project('alone', { include: [`${folder}warnings.test.ts`] }),
  ]
}
