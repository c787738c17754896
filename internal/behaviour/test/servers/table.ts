// The servers for all tests of this package: the newest major of each framework. Another framework
// is another row. internal/behaviour/majors/nest12/servers.ts takes its place for older majors.

import { expressServer } from './express.js'
import type { ServerKind } from './kind.js'
import { koaServer } from './koa.js'
import { nestOn } from './nest.js'
import { platform } from './platform.js'

export const servers: readonly ServerKind[] = [expressServer, koaServer, nestOn(platform)]
