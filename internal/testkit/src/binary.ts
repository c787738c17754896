import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let found: string | undefined

/** The server to start: REDIS_SERVER_BIN, or whatever servers/redis.mjs finds or fetches. */
export function serverBinary(): string {
  found ??= process.env.REDIS_SERVER_BIN ?? askFinder('redis')
  return found
}

/** A server of a kind: the newest that Debian has, or what `npm test` would use. */
export function otherServer(kind: 'redis' | 'valkey', ...newest: readonly 'newest'[]): string {
  return askFinder('redis', kind, ...newest)
}

/** The last line that a script of servers/ prints. */
export function askFinder(
  name: 'redis' | 'prometheus' | 'postgres' | 'chromium' | 'nginx',
  ...args: readonly string[]
): string {
  const own = packageFolder(dirname(fileURLToPath(import.meta.url)))
  const script = join(own, `servers/${name}.mjs`)
  const output = execFileSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return output.trimEnd().split('\n').at(-1) ?? ''
}

/** The folder of this package, whether it runs from src/ or from dist/. */
function packageFolder(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'servers/redis.mjs'))) return folder
    // The root of the file system is its own parent.
    if (dirname(folder) === folder) {
      throw new Error(
        `no servers/redis.mjs in or above ${start}; set REDIS_SERVER_BIN to a redis-server`,
      )
    }
  }
}
