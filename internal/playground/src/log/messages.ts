// The messages between the page and the worker that reads a log.

import type { Settings } from '../settings.js'

/** What the page asks of a worker, once. */
export interface LogOrder {
  readonly file: Blob
  /** Who is limited, as `weir simulate --key` takes it. */
  readonly key: string
  readonly settings: Pick<Settings, 'limit' | 'window' | 'burst'>
}

export type LogMessage =
  /** How much of the file is read, from 0 to 1. */
  | { readonly kind: 'progress'; readonly part: number }
  | { readonly kind: 'done'; readonly result: LogResult }
  | { readonly kind: 'failed'; readonly why: string }

/** The range of a figure, which whole seconds may leave open. Otherwise both are the same. */
export type Span = readonly [least: number, most: number]

export interface LogResult {
  readonly format: string | undefined
  readonly lines: number
  readonly brokenCount: number
  readonly broken: readonly { readonly line: number; readonly text: string; readonly why: string }[]
  /** Notes on the log, in sentences. */
  readonly notes: readonly string[]
  readonly requests: number
  readonly keys: number
  readonly algorithms: readonly AlgorithmResult[]
}

export interface AlgorithmResult {
  readonly id: string
  readonly refused: Span
  readonly keysAffected: Span
  /** The most that passed for a key in any window. */
  readonly most: number
  /** The window's length; for a bucket, the time in which it fills up. Undefined: nothing
   *  passed. */
  readonly windowMs: number | undefined
  /** The most that may pass in the window. */
  readonly bound: number | undefined
  /** The keys that were refused most, printable. */
  readonly worst: readonly {
    readonly key: string
    readonly refused: number
    readonly requests: number
  }[]
}
