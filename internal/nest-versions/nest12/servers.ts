// The servers for the tests of internal/behaviour, by the names in WEIR_SERVERS.

import { expressServer } from '../../behaviour/test/servers/express.js'
import type { ServerKind } from '../../behaviour/test/servers/kind.js'
import { koaServer } from '../../behaviour/test/servers/koa.js'
import { nestOn } from '../../behaviour/test/servers/nest.js'
import { platform as express } from '../../behaviour/test/servers/platform.js'
import { platform as fastify } from './fastify.js'

const wanted = process.env.WEIR_SERVERS?.split(', ') ?? []
const all = [expressServer, koaServer, nestOn(express), nestOn(fastify)]

export const servers: readonly ServerKind[] = all.filter(({ name }) => wanted.includes(name))
