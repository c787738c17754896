// The servers for the tests of internal/behaviour, by the names in WEIR_SERVERS; by default, all.

import { adapters } from '../../test/servers/adapters.js'
import type { ServerKind } from '../../test/servers/kind.js'
import { nestOn } from '../../test/servers/nest.js'
import { platform as express } from '../../test/servers/platform.js'
import { platform as fastify } from './fastify.js'

const wanted = process.env.WEIR_SERVERS?.split(', ')
// Fetch is a standard, which has no majors.
const ofMajors = adapters.filter(({ name }) => name !== 'Fetch')
const all = [...ofMajors, nestOn(express), nestOn(fastify)]

export const servers: readonly ServerKind[] = all.filter(
  ({ name }) => wanted === undefined || wanted.includes(name),
)
