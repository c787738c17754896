// Makes the picture of a page smaller: the same PNG without filters, which do not help pictures of
// pages, and with zlib's best compression.

import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE_BYTES = 8

/** @param png with 8 bits a channel, RGB or RGBA, not interlaced, as browsers make them */
export function smaller(png: Buffer): Buffer {
  const chunks = chunksOf(png)
  const header = chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13)
  const [width, height, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[9]]
  const pixelBytes = kind === 2 ? 3 : 4
  const data = chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data)
  const rows = unfiltered(inflateSync(Buffer.concat(data)), width * pixelBytes, height, pixelBytes)
  const better = Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
  return better.length < png.length ? better : png
}

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    chunks.push({ type, data: png.subarray(at + 8, at + 8 + length) })
    at += length + 12
  }
  return chunks
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** The rows of pixels, each after a 0, which means that it has no filter. */
function unfiltered(filtered: Buffer, rowBytes: number, height: number, pixel: number): Buffer {
  const rows = Buffer.alloc((rowBytes + 1) * height)
  for (let y = 0; y < height; y += 1) {
    const start = y * (rowBytes + 1) + 1
    const filter = filtered[start - 1] ?? 0
    for (let i = 0; i < rowBytes; i += 1) {
      const at = start + i
      const left = i < pixel ? 0 : (rows[at - pixel] ?? 0)
      const up = y === 0 ? 0 : (rows[at - rowBytes - 1] ?? 0)
      const corner = y === 0 || i < pixel ? 0 : (rows[at - rowBytes - 1 - pixel] ?? 0)
      rows[at] = (filtered[at] ?? 0) + predicted(filter, left, up, corner)
    }
  }
  return rows
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [byLeft, byUp, byCorner] = [left, up, corner].map((each) => Math.abs(guess - each)) as [
    number,
    number,
    number,
  ]
  if (byLeft <= byUp && byLeft <= byCorner) return left
  return byUp <= byCorner ? up : corner
}
