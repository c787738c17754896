// A setup file: time stands still, and passes for all limiters when a row says so. Timers and
// sockets are real. It runs before koa-ratelimit is loaded, which reads the time only then.

import { vi } from 'vitest'

vi.useFakeTimers({ toFake: ['Date', 'hrtime'], now: Date.parse('2026-01-01T00:00:00Z') })
