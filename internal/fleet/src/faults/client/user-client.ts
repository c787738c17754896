// The client of a user, from any supported library: `libraries/NAME.ts` of each opens its clients.

import type { EventEmitter } from 'node:events'
import { readdirSync } from 'node:fs'
import { extname, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { redisStore } from '@weir/core'
import type { Address, Job } from './protocol.js'

export interface UserClient {
  /** What is passed to `redisStore`. */
  readonly given: Parameters<typeof redisStore>[0]
  readonly events: EventEmitter
  /** Resolves when the client is ready. */
  ready(): Promise<void>
  /** Whether a command would reach Redis, as far as the client knows. */
  isReady(): Promise<boolean>
  incr(key: string): Promise<unknown>
  close(): void
}

/** Opens a client, with the options that Weir recommends; with these and long timeouts, for a busy
 *  machine; or with none. */
export type Open = (
  to: Address,
  how: 'recommended' | 'patient' | 'plain',
) => UserClient | Promise<UserClient>

const FOLDER = new URL('./libraries/', import.meta.url)
/** `.ts` in the sources, `.js` as built. */
const ENDING = extname(fileURLToPath(import.meta.url))

export const LIBRARIES: readonly string[] = readdirSync(FOLDER)
  .filter((file) => extname(file) === ENDING && !file.endsWith('.d.ts'))
  .map((file) => parse(file).name)

export const HOST = '127.0.0.1'

/** A library is loaded only when used. */
export async function openClient({
  to,
  client,
  library = 'ioredis',
}: Pick<Job, 'to' | 'client' | 'library'>): Promise<UserClient> {
  const { open } = (await import(new URL(library + ENDING, FOLDER).href)) as { open: Open }
  return open(to, client)
}
