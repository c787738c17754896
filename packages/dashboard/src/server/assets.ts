// The page's files, which the build puts into the code: no file is read, so no path can be forged.

import { createHash } from 'node:crypto'
import { ASSETS } from '../page/assets.generated.js'
import type { Answer, PageRequest } from './exchange.js'
import { HEADERS } from './headers.js'

export type AssetName = keyof typeof ASSETS

const tags = new Map<AssetName, string>()

function tagOf(name: AssetName): string {
  let tag = tags.get(name)
  if (tag === undefined) {
    tag = `"${createHash('sha256').update(ASSETS[name].body).digest('base64url').slice(0, 22)}"`
    tags.set(name, tag)
  }
  return tag
}

/** The page itself, which browsers must not store. */
export function page(status: number): Answer {
  const { type, body } = ASSETS['index.html']
  return { status, headers: { ...HEADERS, 'Content-Type': type }, body }
}

/** A script or a style sheet, which browsers store and revalidate each time. */
export function asset(name: AssetName, { header }: PageRequest): Answer {
  const { type, body } = ASSETS[name]
  const tag = tagOf(name)
  const headers = { ...HEADERS, 'Cache-Control': 'no-cache', ETag: tag }
  const known = (header('if-none-match') ?? '').split(',', 20).map((each) => each.trim())
  if (known.includes(tag) || known.includes(`W/${tag}`)) return { status: 304, headers, body: '' }
  return { status: 200, headers: { ...headers, 'Content-Type': type }, body }
}
