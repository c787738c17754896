// Request bodies: JSON of at most 64 kB.

import { invalidRequest, Refused } from '../act/problem.js'

const LONGEST = 65_536

function tooLarge(): Refused {
  return new Refused(413, 'too-large', `a body has at most ${LONGEST} bytes`)
}

/** @throws {Refused} 413, before a byte is read */
export function checkLength(length: string | undefined | null): void {
  if (Number(length ?? 0) > LONGEST) throw tooLarge()
}

/** @throws {Refused} 413 as soon as the body is too long; 400 if it is not JSON or ends early */
export async function jsonOf(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const body = await bytesOf(chunks)
  try {
    return JSON.parse(body.toString())
  } catch {
    throw invalidRequest('the body is not JSON')
  }
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of chunks) {
      length += chunk.length
      if (length > LONGEST) throw tooLarge()
      all.push(chunk)
    }
  } catch (error) {
    if (error instanceof Refused) throw error
    // The client has gone away: no failure of the server, and nothing for its log.
    throw invalidRequest('the body ended too early')
  }
  return Buffer.concat(all)
}
