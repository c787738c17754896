// For the snippets that connect with GLIDE, which does not use Node's sockets: connections to the
// ports that a snippet names go to those of the tests (run.mjs of internal/behaviour).
import { GlideClient } from '@valkey/valkey-glide'

const [, , ports = ''] = process.argv
const portOf = new Map(ports.split(',').map((pair) => pair.split(':').map(Number)))

const { createClient } = GlideClient
GlideClient.createClient = ({ addresses, ...options }) => {
  const there = addresses.map(({ host, port }) => ({ host, port: portOf.get(port) ?? port }))
  return createClient.call(GlideClient, { ...options, addresses: there })
}
