// Serves the page to this machine only: `npm run playground`.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const page = readFileSync(new URL('dist/index.html', import.meta.url))
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const server = createServer((request, response) => {
  const isPage = request.url === '/' || request.url?.startsWith('/?')
  if (!isPage) return response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n')
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return response.writeHead(405, { allow: 'GET, HEAD' }).end()
  response.writeHead(200, HEADERS).end(request.method === 'HEAD' ? undefined : page)
})

const wanted = Number(process.env.PORT ?? 4173)
server.on('error', (error) => {
  if (error.code === 'EADDRINUSE' && process.env.PORT === undefined) server.listen(0, '127.0.0.1')
  else throw error
})
server.on('listening', () => {
  console.log(`playground: http://127.0.0.1:${server.address().port} (Ctrl-C ends it)`)
})
server.listen(wanted, '127.0.0.1')
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    server.close()
    server.closeAllConnections()
  })
