import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const given = new Set<number>()

/**
 * A port that nobody listens on. Drawn from below the range that systems use for outgoing
 * connections, so that no client socket takes it between this check and the server's start.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if (given.has(port)) continue
    given.add(port)
    if (await canListen(port)) return port
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
