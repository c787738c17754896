// The contract between the command `weir` of @weir/core and this package.

import type { Store } from '@weir/core'
import type { AskedStore, StorePlace } from '../why/tools.js'

export interface OpenStore extends AskedStore {
  readonly settings: NonNullable<Store['settings']>
}

export interface CommandTools {
  /** Opens the store that the options --redis, --cluster, --prefix and WEIR_HASH_KEYS name. */
  readonly openStore: (place: StorePlace) => Promise<OpenStore>
}

export interface CommandIo {
  readonly out: (line: string) => void
  /** Shows a line that the next one replaces. Undefined: there is no terminal. */
  readonly progress: ((line: string) => void) | undefined
  readonly input: NodeJS.ReadableStream
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** To be called before a long computation, during which `signal` cannot change: an interrupt then
   *  ends the process. Undefined: an older @weir/core has started the command. */
  readonly blocking?: (() => void) | undefined
}
