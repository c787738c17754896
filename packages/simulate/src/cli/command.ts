// The contract between the command `weir` of @weir/core and this package.

import type { RedisStore, Store } from '@weir/core'

export interface OpenStore {
  readonly store: RedisStore
  readonly settings: NonNullable<Store['settings']>
  /** What the client complained of last. */
  readonly trouble: () => Error | undefined
  readonly close: () => void
}

export interface CommandTools {
  /** Opens the store that the options --redis, --cluster, --prefix and WEIR_HASH_KEYS name. */
  readonly openStore: (options: {
    redis?: string
    cluster?: boolean
    prefix?: string
  }) => Promise<OpenStore>
}

export interface CommandIo {
  readonly out: (line: string) => void
  /** Shows a line that the next one replaces. Undefined: nobody is looking. */
  readonly progress: ((line: string) => void) | undefined
  readonly input: NodeJS.ReadableStream
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}
