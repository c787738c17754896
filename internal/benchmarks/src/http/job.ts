// What the processes are told, and what they say.

/** Clients that ask in turn. */
export const CLIENTS = 10_000

export type Framework = 'Koa' | 'Nest on Fastify' | 'Express'
export type Limiter = 'none' | 'Weir' | 'peer'

export interface ServerJob {
  readonly framework: Framework
  readonly limiter: Limiter
  /** Counters live in Redis; undefined: in the server's memory. */
  readonly redisPort: number | undefined
}

/** What one application of a server process limits. */
export interface Limit {
  readonly limiter: Limiter
  readonly redisPort: number | undefined
  readonly limit: number
  readonly windowMs: number
  /** Keeps the counters of two applications apart. */
  readonly name: string
}

/** Both applications listen: one with a limit that no load reaches, one with a limit of 10. */
export interface Listening {
  readonly port: number
  readonly strictPort: number
}

/**
 * In answer to any message: CPU time of the process so far, and how much of it was not the
 * system's.
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
  /** Answered otherwise than by 200. */
  readonly others: number
}

/** Names the client: the servers limit by it. */
export const CLIENT_HEADER = 'x-client'
