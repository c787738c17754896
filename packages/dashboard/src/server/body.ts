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

/** @throws {Refused} 413 as soon as the body is too long; 400 if it is not JSON */
export async function jsonOf(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const all: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > LONGEST) throw tooLarge()
    all.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(all).toString())
  } catch {
    throw invalidRequest('the body is no JSON')
  }
}
