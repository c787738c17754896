// The messages to and from the processes.

/** The number of clients, which send requests in turn. */
export const CLIENTS = 10_000

export type Framework = 'Koa' | 'Nest on Fastify' | 'Express'
export type Limiter = 'none' | 'Weir' | 'peer'

export interface ServerJob {
  readonly framework: Framework
  readonly limiter: Limiter
  /** Keeps counters in Redis; if undefined, in the server's memory. */
  readonly redisPort: number | undefined
}

/** The limits of one application of a server process. */
export interface Limit {
  readonly limiter: Limiter
  readonly redisPort: number | undefined
  readonly limit: number
  readonly windowMs: number
  /** Separates the counters of two applications. */
  readonly name: string
}

/** Both applications listen: one has a limit that no load reaches, the other a limit of 10. */
export interface Listening {
  readonly port: number
  readonly strictPort: number
}

/**
 * The answer to any message: the CPU time of the process so far, and how much of it was user time.
 */
export interface Usage {
  readonly cpuUs: number
  readonly userUs: number
}

export interface LoadJob {
  readonly port: number
  readonly connections: number
  readonly clients: number
  readonly forMs: number
}

export interface Load {
  readonly requests: number
  /** Responses with a status other than 200. */
  readonly others: number
}

/** The header with the client's name, which is the key of the limits. */
export const CLIENT_HEADER = 'x-client'
