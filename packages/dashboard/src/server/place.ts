// Where the page is mounted: by the framework (Express, middie), which cuts the mount off `url`,
// and below that by the option `path`.

import type { PageRequest } from './exchange.js'

export type Place = Pick<PageRequest, 'base' | 'path' | 'query'>

/**
 * @param url the URL that the handler is given
 * @param original the URL that the client sent; undefined: the same
 * @param path the option: `''`, `'/weir'`
 * @returns undefined if the URL is not the page's
 */
export function placeOf(
  url: string,
  original: string | undefined,
  path: string,
): Place | undefined {
  const [own, query] = partsOf(url)
  const [whole] = partsOf(original ?? url)
  // For the mount itself, Express and middie give '/', whether the client sent the slash or not.
  const isWithoutSlash = own === '/' && !whole.endsWith('/')
  const mount = isWithoutSlash ? whole : whole.endsWith(own) ? whole.slice(0, -own.length) : ''
  const base = mount + path
  if (path === '') return { base, query, path: isWithoutSlash ? undefined : own.slice(1) }
  if (own === path) return { base, query, path: undefined }
  if (!own.startsWith(`${path}/`)) return undefined
  return { base, query, path: own.slice(path.length + 1) }
}

function partsOf(url: string): [path: string, query: string] {
  const at = url.indexOf('?')
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

/** A redirect from the mount without its slash to the one with it, on any host name. */
export function withSlash(base: string, query: string): string {
  const name = base.slice(base.lastIndexOf('/') + 1)
  const token = /(?:^|&)token=([\w-]{1,128})(?:&|$)/.exec(query)?.[1]
  return `./${encodeURI(decoded(name))}/${token === undefined ? '' : `?token=${token}`}`
}

function decoded(name: string): string {
  try {
    return decodeURI(name)
  } catch {
    return ''
  }
}
