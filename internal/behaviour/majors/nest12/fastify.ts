// In place of Express, for the tests of packages/nest/test and for internal/behaviour.

import type { AbstractHttpAdapter } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { Platform } from '../../../../packages/nest/test/platform.js'

export const platform: Platform = {
  name: 'Fastify',
  // Since 5.12.1, Fastify trusts nobody if it is told to trust a number of hops.
  countsHops: isBefore(new FastifyAdapter().getInstance().version, [5, 12, 1]),
  adapter: (trust) =>
    new FastifyAdapter({
      ...(trust !== undefined && { trustProxy: trust as string }),
    }) as unknown as AbstractHttpAdapter,
}

function isBefore(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  const differs = wanted.findIndex((part, i) => part !== parts[i])
  return differs >= 0 && (parts[differs] ?? 0) < (wanted[differs] ?? 0)
}
