// A log file's text, part by part; unzipped if the file is zipped.

import { isAscii } from 'node:buffer'
import { constants, createReadStream, type Stats } from 'node:fs'
import { access, stat as fileStat } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { createGunzip } from 'node:zlib'
import { failed, misused } from '../errors.js'
import { shown } from '../log/shown.js'

/** A log: a file's path, or a stream of bytes. */
export type LogSource = string | AsyncIterable<Uint8Array | string>

const PART_BYTES = 2 ** 18

/** The size of all logs together, in bytes. Undefined: not all are files. */
export async function sizeOf(sources: readonly LogSource[]): Promise<number | undefined> {
  let bytes = 0
  for (const source of sources) {
    if (typeof source !== 'string') return undefined
    // Not opened: what writes to a named pipe would be ended when this closed it again.
    const stat = await statOf(source).catch((error) => {
      throw unreadable(source, error)
    })
    if (stat.isDirectory()) throw unreadable(source, new Error('it is a folder'))
    if (!stat.isFile()) return undefined
    bytes += stat.size
  }
  return bytes
}

async function statOf(path: string): Promise<Stats> {
  const stat = await fileStat(path)
  if (stat.isFile()) await access(path, constants.R_OK)
  return stat
}

function unreadable(path: string, { message }: Error): Error {
  return misused('WEIR_LOG_UNREADABLE', `the log ${shown(path, 300)} cannot be read: ${message}`)
}

/**
 * @param read called with the number of bytes that were read, before they are unzipped
 * @throws {SimulateError} WEIR_LOG_UNREADABLE
 */
export async function* textsOf(
  source: LogSource,
  read: (bytes: number) => void,
): AsyncGenerator<string> {
  const isFile = typeof source === 'string'
  const name = isFile ? source : 'standard input'
  const parts = isFile ? createReadStream(source, { highWaterMark: PART_BYTES }) : source
  const decoder = new StringDecoder('utf8')
  let isWhole = true
  try {
    for await (const part of await unzipped(bytesOf(parts, read), name)) {
      // Most logs are ASCII, which is read twice as fast.
      if (isWhole && isAscii(part)) {
        yield part.toString('latin1')
        continue
      }
      yield decoder.write(part)
      isWhole = isAscii(part.subarray(-3))
    }
    yield decoder.end()
  } catch (error) {
    const { message, code } = error as Error & { readonly code?: unknown }
    // An error that the caller threw into the generator is not a failure of the file.
    if (typeof code !== 'string' || !/^(E[A-Z]|Z_)/.test(code)) throw error
    throw failed(
      'WEIR_LOG_UNREADABLE',
      `the log ${shown(name, 300)} cannot be read: ${message}`,
      error,
    )
  }
}

async function* bytesOf(
  parts: AsyncIterable<Uint8Array | string>,
  read: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : asBuffer(part)
    read(bytes.length)
    yield bytes
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Unzips gzip, which is known by its first two bytes, whatever the file's name. */
async function unzipped(
  parts: AsyncGenerator<Buffer>,
  name: string,
): Promise<AsyncIterable<Buffer>> {
  let beginning: Buffer = Buffer.alloc(0)
  while (beginning.length < 2) {
    const { value, done } = await parts.next()
    if (done) break
    beginning = Buffer.concat([beginning, value])
  }
  // PowerShell writes redirected output so.
  if (['fffe', 'feff'].includes(beginning.toString('hex', 0, 2))) {
    const what = `the log ${shown(name, 300)} is UTF-16`
    throw failed('WEIR_LOG_UNREADABLE', `${what}; give UTF-8: iconv -f UTF-16 -t UTF-8`)
  }
  const all = joined(beginning, parts)
  if (beginning[0] !== 0x1f || beginning[1] !== 0x8b) return all
  // The callback ignores errors: the stream also throws them to its reader.
  return pipeline(Readable.from(all), createGunzip(), () => {})
}

async function* joined(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}
