import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Resolves to the port when the server listens. */
export async function listening(server: Server): Promise<number> {
  if (!server.listening)
    await new Promise<void>((resolve) => server.once('listening', () => resolve()))
  return (server.address() as AddressInfo).port
}
