// What the adapter uses of GLIDE's clients, and the checks of a client.

import { rangeError } from '../../../base/errors.js'
import { noClient } from '../../client.js'

/** What GLIDE's clients have. */
export interface GlideLike {
  customCommand(args: string[], options?: object): Promise<unknown>
  close(message?: string): void
}

/** The options that Weir reads. */
interface Options {
  readonly addresses?: readonly { readonly host: string; readonly port?: number }[]
  readonly databaseId?: number
  readonly readOnly?: boolean
}

/** These are not public; without them a client is used as it is. */
interface Inside {
  readonly config?: Options
  readonly isClosed?: boolean
}

export function optionsOf(client: GlideLike): Options {
  return (client as Inside).config ?? {}
}

/** Closed for good: a GLIDE client cannot be opened again. */
export function isClosed(client: GlideLike): boolean {
  return (client as Inside).isClosed === true
}

export function isOfCluster(client: GlideLike): boolean {
  return 'fcallWithRoute' in client
}

/**
 * @returns whether it is the client of a Cluster
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export function checkedClient(client: GlideLike): boolean {
  if (!isGlide(client)) {
    const right = "one of Valkey GLIDE's, a GlideClient or a GlideClusterClient"
    throw noClient(client, right)
  }
  if (isClosed(client)) refuse('the client is closed; give a new one')
  if (optionsOf(client).readOnly === true)
    refuse("the client's readOnly is true; a replica cannot count: leave readOnly out")
  return isOfCluster(client)
}

function refuse(what: string): never {
  throw rangeError('WEIR_INVALID_OPTION', what)
}

/** A batch also has commands, but sends them later. */
function isGlide(client: unknown): client is GlideLike {
  if (typeof client !== 'object' || client === null) return false
  const names = ['customCommand', 'close', 'updateConnectionPassword']
  return names.every((name) => typeof (client as Record<string, unknown>)[name] === 'function')
}
