// A small Redis client with which tests set up servers and inspect them, independent of the client
// library under test.
import { connect, type Socket } from 'node:net'

export type Reply = string | number | null | readonly Reply[]

export interface Connection {
  command(...args: readonly (string | number)[]): Promise<Reply>
  close(): void
  isClosed(): boolean
}

interface Waiting {
  resolve(reply: Reply): void
  reject(error: Error): void
}

export function openConnection(port: number): Connection {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const waiting: Waiting[] = []
  let received: Buffer = Buffer.alloc(0)
  let closed: Error | undefined

  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    for (;;) {
      const parsed = parse(received, 0)
      if (parsed === undefined) return
      received = received.subarray(parsed.end)
      const next = waiting.shift()
      if (parsed.value instanceof Error) next?.reject(parsed.value)
      else next?.resolve(parsed.value)
    }
  })
  const fail = (error: Error): void => {
    closed ??= error
    for (const { reject } of waiting.splice(0)) reject(error)
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error(`connection to port ${port} closed`)))

  return {
    command: (...args) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(closed)
        waiting.push({ resolve, reject })
        write(socket, args)
      }),
    close: () => socket.destroy(),
    isClosed: () => closed !== undefined || socket.destroyed,
  }
}

function write(socket: Socket, args: readonly (string | number)[]): void {
  const parts = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`)
  socket.write(`*${args.length}\r\n${parts.join('')}`)
}

interface Parsed {
  readonly value: Reply | Error
  readonly end: number
}

/** Parses the RESP2 reply that starts at `at`. Returns nothing while a part is missing. */
function parse(buffer: Buffer, at: number): Parsed | undefined {
  const lineEnd = buffer.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const kind = String.fromCharCode(buffer[at] ?? 0)
  const line = buffer.toString('utf8', at + 1, lineEnd)
  const end = lineEnd + 2
  if (kind === '+') return { value: line, end }
  if (kind === '-') return { value: new Error(line), end }
  if (kind === ':') return { value: Number(line), end }
  if (kind === '$') return parseBulk(buffer, end, Number(line))
  if (kind === '*') return parseArray(buffer, end, Number(line))
  throw new Error(`unexpected RESP type '${kind}'`)
}

function parseBulk(buffer: Buffer, at: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: at }
  if (buffer.length < at + length + 2) return undefined
  return { value: buffer.toString('utf8', at, at + length), end: at + length + 2 }
}

function parseArray(buffer: Buffer, at: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: at }
  const items: Reply[] = []
  let end = at
  for (let i = 0; i < length; i++) {
    const item = parse(buffer, end)
    if (item === undefined) return undefined
    items.push(item.value instanceof Error ? item.value.message : item.value)
    end = item.end
  }
  return { value: items, end }
}
