// How to set up a GLIDE client so that Weir notices a failure of Redis in time, and learns what
// Redis has counted.

/**
 * Options for `GlideClient.createClient({ addresses, ...recommendedGlideOptions })`, and for a
 * `GlideClusterClient`.
 *
 * - lazyConnect: an application can start without Redis
 * - requestTimeout 1,000 (ms; by default 250): Weir decides by its own deadline, and learns from a
 *   later reply that Redis has counted the request. For this long, GLIDE also keeps a command while
 *   it has no connection, and a closed client keeps the process alive.
 * - connectionTimeout 500 (ms), connectionBackoff: as for ioredis, up to 0.8 s
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
