// The platform of Nest. internal/behaviour/majors/nest12 has one that takes its place: Fastify.

import type { AbstractHttpAdapter } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'

export interface Platform {
  readonly name: 'Express' | 'Fastify'
  /** `trust` is for Express's `trust proxy`, or Fastify's `trustProxy`. */
  adapter(trust?: boolean | number | string): AbstractHttpAdapter
}

export const platform: Platform = {
  name: 'Express',
  adapter(trust) {
    const adapter = new ExpressAdapter()
    if (trust !== undefined) adapter.getInstance().set('trust proxy', trust)
    return adapter
  },
}
