import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let found: string | undefined

/** The server to start: REDIS_SERVER_BIN, or whatever the workspace's own finder finds or fetches. */
export function serverBinary(): string {
  found ??= process.env.REDIS_SERVER_BIN ?? askFinder()
  return found
}

function askFinder(): string {
  const script = join(workspaceRoot(), 'scripts', 'redis.mjs')
  const output = execFileSync(process.execPath, [script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return output.trimEnd().split('\n').at(-1) ?? ''
}

function workspaceRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'pnpm-workspace.yaml'))) folder = dirname(folder)
  return folder
}
