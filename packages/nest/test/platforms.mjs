// All tests run on Express, and again on Fastify, but for those that know one of them only: GraphQL
// is served by Apollo's integration of Express.
const EXPRESS_ONLY = ['**/graphql.test.ts', '**/federation.test.ts', '**/public-types.test.ts']

/** @param {readonly string[]} exclude tests that are not run at all */
export function platforms(exclude = []) {
  return [
    { extends: true, test: { name: 'express', exclude } },
    {
      extends: true,
      test: {
        name: 'fastify',
        exclude: [...EXPRESS_ONLY, ...exclude],
        env: { WEIR_NEST_PLATFORM: 'fastify' },
      },
    },
  ]
}
