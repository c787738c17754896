// The servers for all tests of this package. Another framework is another row.

import { expressKinds } from './express.js'
import type { ServerKind } from './kind.js'
import { koaKinds } from './koa.js'
import { nestKinds } from './nest.js'

export const servers: readonly ServerKind[] = [...expressKinds, ...koaKinds, ...nestKinds]
