// Clients of iovalkey, a fork of ioredis 5.

import type * as ioredis from 'ioredis'
import * as iovalkey from 'iovalkey'
import type { Open } from '../user-client.js'
import { openerOf } from './ioredis.js'

export const open: Open = openerOf(iovalkey as unknown as typeof ioredis)
