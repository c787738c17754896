// A process that keeps a server busy over plain sockets, which needs less of the machine than an
// HTTP client.

import { connect, type Socket } from 'node:net'
import { CLIENT_HEADER, type Load, type LoadJob } from './job.js'

const HEAD_END = '\r\n\r\n'

process.on('message', async (job: LoadJob) => {
  process.send?.(await load(job))
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

async function load({ port, connections, clients, forMs }: LoadJob): Promise<Load> {
  const requests = Array.from({ length: clients }, (_, i) => {
    return `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n${CLIENT_HEADER}: client-${i}${HEAD_END}`
  })
  const end = performance.now() + forMs
  const told = { requests: 0, others: 0 }
  let next = 0

  function converse(socket: Socket): Promise<void> {
    return new Promise((resolve, reject) => {
      let received = ''
      const ask = (): void => {
        socket.write(requests[next % clients] as string)
        next += 1
      }
      socket.setNoDelay(true)
      socket.setEncoding('latin1')
      socket.on('error', reject)
      socket.on('connect', ask)
      socket.on('data', (chunk: string) => {
        received += chunk
        const length = responseLength(received)
        if (length === undefined || received.length < length) return
        told.requests += 1
        if (!received.startsWith('HTTP/1.1 200')) told.others += 1
        received = ''
        if (performance.now() < end) return ask()
        socket.destroy()
        resolve()
      })
    })
  }

  const sockets = Array.from({ length: connections }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map(converse))
  return told
}

/** The length of head and body, if the whole head has arrived. */
function responseLength(received: string): number | undefined {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  const length = /content-length: (\d+)/i.exec(received)
  if (length === null) throw new Error(`a response without a length: ${received}`)
  return headEnd + HEAD_END.length + Number(length[1])
}
