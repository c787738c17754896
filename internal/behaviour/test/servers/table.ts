// The servers that the whole suite runs over. Another framework is another row.

import { expressKinds } from './express.js'
import type { ServerKind } from './kind.js'
import { koaKinds } from './koa.js'
import { nestKinds } from './nest.js'

export const servers: readonly ServerKind[] = [...expressKinds, ...koaKinds, ...nestKinds]
