// The store that a command asks: that of the application, by a client of its own.

import { quote, StoreError } from '../base/errors.js'
import { nameOfKey } from '../base/key-name.js'
import { processTime } from '../base/time.js'
import { fieldsOf } from '../live/changes.js'
import { settingsOf } from '../live/checks.js'
import { type Field, fieldOf } from '../live/fields.js'
import { processesOf } from '../live/reports.js'
import type { LiveProcess } from '../live/types.js'
import { type RedisStore, storeOf } from '../redis/store.js'
import type { Settings, SettingsNews } from '../settings.js'
import { checkedAddress } from './address.js'
import { clientFor } from './client.js'

/** What of the options of a command says which store. */
export const STORE_OPTIONS = {
  redis: { type: 'string' },
  prefix: { type: 'string' },
  cluster: { type: 'boolean' },
} as const

export interface StorePlace {
  readonly redis?: string | undefined
  readonly cluster?: boolean | undefined
  readonly prefix?: string | undefined
  /** As the store has it. */
  readonly hashTags?: number | undefined
}

/** What is kept of live policies. */
interface LiveState {
  readonly news: SettingsNews
  readonly fields: ReadonlyMap<string, string>
  readonly processes: readonly LiveProcess[]
}

export interface OpenStore {
  readonly store: RedisStore
  readonly settings: Settings
  /** What the client complained of last. */
  readonly trouble: () => Error | undefined
  readonly close: () => void
  /** What is kept of the live policies of a name. */
  readonly live: (name: string) => Promise<LiveState>
  /** What a field is of. Undefined: Weir has not written it. */
  readonly fieldOf: (text: string) => Field | undefined
  /** What a key is called in a field. */
  readonly nameOfKey: (key: string) => string
}

/** Redis alone decides, and does not count the command among the processes that share the
 *  limits. */
const ONLY_ASKS = {
  deadlineMs: 10_000,
  whenUnavailable: 'throw',
  instances: 1,
  denyCache: false,
} as const

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export async function openStore(place: StorePlace): Promise<OpenStore> {
  const { redis, cluster, prefix, hashTags } = place
  const { REDIS_URL, WEIR_HASH_KEYS: hashKeys } = process.env
  const address =
    redis === undefined
      ? checkedAddress('REDIS_URL', REDIS_URL || 'redis://localhost:6379')
      : checkedAddress('--redis', redis)
  const { client, onError, close } = await clientFor(address, cluster === true)
  let trouble: Error | undefined
  onError((error) => {
    trouble = error
  })
  try {
    const store = storeOf(client, { ...ONLY_ASKS, prefix, hashTags, hashKeys }, false)
    const settings = settingsOf(store)
    return {
      ...{ store, settings, close, fieldOf },
      trouble: () => trouble,
      async live(name) {
        const at = { settings, name, time: processTime }
        const asked = [settings.news(name), fieldsOf(at), processesOf(at)] as const
        const [news, fields, processes] = await Promise.all(asked)
        return { news, fields, processes }
      },
      nameOfKey: (key) => (settings.hidden ?? String)(nameOfKey(key)),
    }
  } catch (error) {
    close()
    throw error
  }
}

/** A failure of the store, with what the client complained of. */
export function explained(error: unknown, trouble: Error | undefined): unknown {
  if (!(error instanceof StoreError) || trouble === undefined) return error
  const problem = `${error.message}; the client said ${quote(trouble.message)}`
  return new StoreError('WEIR_STORE_FAILED', problem, { cause: error })
}
