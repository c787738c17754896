// What the adapter uses of node-redis's clients, and the check of a client's kind.

import { rangeError } from '../../../base/errors.js'
import { noClient } from '../../client.js'

/** What all of node-redis's clients have. */
export interface NodeRedisLike {
  readonly isOpen: boolean
  readonly isReady?: boolean
  sendCommand(...args: never[]): Promise<unknown>
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

export interface SingleClient extends NodeRedisLike {
  readonly isReady: boolean
  readonly isPubSubActive?: boolean
  readonly options?: {
    readonly RESP?: number
    readonly database?: number
  }
  sendCommand(args: string[], options: object): Promise<unknown>
  connect(): Promise<unknown>
  destroy(): void
}

export interface ClusterClient extends NodeRedisLike {
  readonly slots: readonly ({ readonly master?: { readonly address: string } } | undefined)[]
  readonly nodeByAddress: ReadonlyMap<string, { readonly client?: SingleClient | undefined }>
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    args: string[],
    options: object,
  ): Promise<unknown>
}

export interface SentinelClient extends NodeRedisLike {
  readonly options?: { readonly nodeClientOptions?: { readonly database?: number } }
  sendCommand(isReadonly: boolean, args: string[], options: object): Promise<unknown>
}

export interface PoolClient extends NodeRedisLike {
  sendCommand(args: string[], options: object): Promise<unknown>
}

export type Kind = 'client' | 'cluster' | 'sentinel' | 'pool'

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export function checkedClient(client: NodeRedisLike): Kind {
  const kind = kindOf(client)
  if (kind === undefined) {
    const right = 'a client of node-redis: of createClient, createCluster, createSentinel or'
    throw noClient(client, `${right} createClientPool`)
  }
  if (isSilenced(client)) {
    const right = 'it can send no commands then; give Weir a separate client'
    throw rangeError('WEIR_INVALID_OPTION', `the client subscribes with RESP2: ${right}`)
  }
  return kind
}

/** Whether a client subscribes with RESP2, and so can send nothing else. RESP3 has a separate kind
 *  of reply for published messages. It is the default of version 6, whose clients have a prefix. */
export function isSilenced(client: NodeRedisLike): boolean {
  const { isPubSubActive = false, options } = client as SingleClient
  return isPubSubActive && (options?.RESP ?? ('_keyPrefix' in client ? 3 : 2)) === 2
}

function kindOf(client: unknown): Kind | undefined {
  if (typeof client !== 'object' || client === null) return undefined
  const has = (...names: string[]): boolean => names.every((name) => name in client)
  if (!has('sendCommand', 'isOpen', 'on', 'withTypeMapping')) return undefined
  if (has('nodeByAddress', 'slots')) return 'cluster'
  if (has('getMasterNode')) return 'sentinel'
  if (has('totalClients')) return 'pool'
  return has('isReady', 'connect', 'destroy') ? 'client' : undefined
}
