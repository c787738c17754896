import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/**
 * A port on which nobody listens, and that no other process of these tests gets while this one
 * runs: a proxy or server that goes down finds its port free when it comes back. It is below the
 * range that systems use for outgoing connections, so no client socket takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if ((await reserve(port)) && (await canListen(port))) return port
  }
}

/** Holds the UDP port with this number, which nothing else uses, until the process ends. */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    socket.unref()
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
