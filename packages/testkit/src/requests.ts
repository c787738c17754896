/** Counts whole commands in a client's byte stream, however it is cut into chunks. Bulk arrays only. */
export function countRequests(counts: Map<string, number>): (chunk: Buffer) => void {
  let buffer: Buffer = Buffer.alloc(0)
  let name = ''
  let argumentsLeft = 0

  return (chunk) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk])
    for (;;) {
      // Either `*3`, the number of arguments to come, or `$7`, the length of the next one.
      const lineEnd = buffer.indexOf('\r\n')
      if (lineEnd < 0) return
      const start = lineEnd + 2
      const number = Number(buffer.toString('latin1', 1, lineEnd))
      if (buffer[0] === ASTERISK) {
        argumentsLeft = number
        name = ''
        buffer = buffer.subarray(start)
        continue
      }
      if (buffer.length < start + number + 2) return
      name ||= buffer.toString('latin1', start, start + number).toUpperCase()
      buffer = buffer.subarray(start + number + 2)
      if (--argumentsLeft === 0) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
}

const ASTERISK = 0x2a
