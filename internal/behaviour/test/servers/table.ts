// The servers for all tests of this package: the newest major of each framework.
// internal/behaviour/majors/nest12/servers.ts takes its place for older majors.

import { adapters } from './adapters.js'
import type { ServerKind } from './kind.js'
import { nestOn } from './nest.js'
import { platform } from './platform.js'

export const servers: readonly ServerKind[] = [...adapters, nestOn(platform)]
