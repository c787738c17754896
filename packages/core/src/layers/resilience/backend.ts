// What resilience needs of the layer that may fail.

import type { Calls } from '../../base/calls.js'
import type { Layer } from '../../layer.js'
import type { Target } from '../../store.js'

/** One of the servers behind a layer, which may fail alone. */
export interface BackendNode {
  readonly name: string
  /** Calls that wait for its answer; undefined: each request is a call. */
  readonly inFlight?: number
  /** Counts the calls to it. */
  readonly calls?: Calls
}

/** The layer that may fail, and what is known of it. */
export interface Backend {
  /** What errors call it. */
  readonly title: string
  /** What statistics call it. */
  readonly kind?: string
  /** Whether it knows the modes `reconcile` and `restore`. */
  readonly recovers: boolean
  /** How many requests may wait for its answer at once; undefined: any number. */
  readonly maxInFlight?: number
  readonly next: Layer
  readonly nodes: {
    readonly all: readonly BackendNode[]
    /** The node that decides the requests of a target. */
    of(target: Target): BackendNode
    /** A key that lies on the node, and begins with these characters. */
    keyOn(node: BackendNode, beginning?: string): string
  }
  /** What changes when the client connects to a node anew; undefined: that is not known. */
  lineTo?(node: BackendNode): unknown
  /** Why a request would neither be sent now nor wait for a connection; undefined: it would. */
  unready(): string | undefined
}
