// Settings in Redis: the keys that they take, and what a server says that will not have them.

import { describe, expect, test } from 'vitest'
import { slidingWindow } from '../../src/index.js'
import { livePolicies } from '../../src/live/live-policies.js'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'
