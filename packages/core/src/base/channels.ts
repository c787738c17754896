// Channels of node:diagnostics_channel, for those who want to see each decision. What is published
// is made only while somebody listens. Elsewhere than in Node there are none.

/** What is used of a channel. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

const NOBODY: Channel = { hasSubscribers: false, publish() {} }

interface Process {
  getBuiltinModule?(name: string): { channel(name: string): Channel } | undefined
}

/** Not by an import, which would keep the core out of browsers. */
function channel(name: string): Channel {
  const { process } = globalThis as { process?: Process }
  const all = process?.getBuiltinModule?.('diagnostics_channel')
  return all?.channel(name) ?? NOBODY
}

/** A copy of each decision to consume. */
export const decisionChannel: Channel = channel('weir:decision')
/** How each call to a store ended: a `StoreCall`. */
export const storeChannel: Channel = channel('weir:store')
/** How long each `wait` took: a `Wait`. */
export const waitChannel: Channel = channel('weir:wait')
