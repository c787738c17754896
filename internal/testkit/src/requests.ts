/**
 * Finds whole commands in a client's byte stream, wherever chunks begin. Understands only arrays of
 * bulk strings.
 */
export function readRequests(found: (command: readonly string[]) => void): (chunk: Buffer) => void {
  let buffer: Buffer = Buffer.alloc(0)
  let command: string[] = []
  let argumentsLeft = 0

  return (chunk) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk])
    for (;;) {
      // Either `*3`, the number of arguments that follow, or `$7`, the length of the next one.
      const lineEnd = buffer.indexOf('\r\n')
      if (lineEnd < 0) return
      const start = lineEnd + 2
      const number = Number(buffer.toString('latin1', 1, lineEnd))
      if (buffer[0] === ASTERISK) {
        argumentsLeft = number
        command = []
        buffer = buffer.subarray(start)
        continue
      }
      if (buffer.length < start + number + 2) return
      command.push(buffer.toString('latin1', start, start + number))
      buffer = buffer.subarray(start + number + 2)
      if (--argumentsLeft === 0) found(command)
    }
  }
}

const ASTERISK = 0x2a
