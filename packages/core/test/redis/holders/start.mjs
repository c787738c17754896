// Runs holder.ts in a separate process. Node 20 cannot run TypeScript; vite can, and is installed
// for the tests.

import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'

const { Redis } = await import(process.env.WEIR_IOREDIS ?? 'ioredis')
const path = fileURLToPath(new URL('holder.ts', import.meta.url))
const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' })
module.serve(Redis)
