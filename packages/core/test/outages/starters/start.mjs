// Runs starter.ts in a separate process: Node 20 cannot run TypeScript; vite can.

import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'

const { Redis } = await import('ioredis')
const path = fileURLToPath(new URL('starter.ts', import.meta.url))
const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' })
module.serve(Redis)
