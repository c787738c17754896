// The platform of the applications in these tests. internal/behaviour/majors/nest12 has one that
// takes its place: Fastify.

import type { AbstractHttpAdapter } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'

export interface Platform {
  readonly name: 'Express' | 'Fastify'
  /** Whether it trusts a number of hops, rather than nobody. */
  readonly countsHops: boolean
  /** `trust` is for Express's `trust proxy`, or Fastify's `trustProxy`. */
  adapter(trust?: boolean | number | string): AbstractHttpAdapter
}

export const platform: Platform = {
  name: 'Express',
  countsHops: true,
  adapter(trust) {
    const adapter = new ExpressAdapter()
    if (trust !== undefined) adapter.getInstance().set('trust proxy', trust)
    return adapter
  },
}
