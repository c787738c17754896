// Runs hammer.ts in a separate process. Node 20 cannot run TypeScript; vite can, and is installed
// for the tests.

import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'

// A host whose clock is wrong, which must not matter if Redis decides.
const skewMs = Number(process.env.WEIR_SKEW_MS ?? 0)
const { now } = Date
Date.now = () => now.call(Date) + skewMs

const { Redis } = await import(process.env.WEIR_IOREDIS ?? 'ioredis')
const path = fileURLToPath(new URL('hammer.ts', import.meta.url))
const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' })
module.serve(Redis)
