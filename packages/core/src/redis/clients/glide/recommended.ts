// How a client of GLIDE should be set up so that a failure of Redis is noticed in time, and what
// was counted is known.

/**
 * Options for `GlideClient.createClient({ addresses, ...recommendedGlideOptions })`, and for a
 * `GlideClusterClient`.
 *
 * - lazyConnect: an application starts without Redis; else `createClient` fails
 * - requestTimeout 1,000 (ms; GLIDE's default is 250): Weir itself decides by its deadline. What
 *   Redis has counted later is not counted again, if its reply is heard. For as long GLIDE keeps a
 *   command while it has no connection, and a client that was closed keeps the process alive.
 * - connectionTimeout 500 (ms): a host that drops packets is given up
 * - connectionBackoff: reconnects after 50 ms, doubling up to 0.8 s, with jitter of 40 %, so that
 *   processes do not come back all at once
 *
 * With options of your own for `advancedConfiguration`, spread both.
 */
export const recommendedGlideOptions: {
  readonly lazyConnect: true
  readonly requestTimeout: number
  readonly connectionBackoff: {
    readonly numberOfRetries: number
    readonly factor: number
    readonly exponentBase: number
    readonly jitterPercent: number
  }
  readonly advancedConfiguration: { readonly connectionTimeout: number }
} = {
  lazyConnect: true,
  requestTimeout: 1_000,
  connectionBackoff: { numberOfRetries: 4, factor: 50, exponentBase: 2, jitterPercent: 40 },
  advancedConfiguration: { connectionTimeout: 500 },
}
