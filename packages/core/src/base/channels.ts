// Channels of node:diagnostics_channel, for code that wants to see each decision. A message is made
// only while somebody listens. Outside Node there are no channels.

/** The part of a channel that Weir uses. */
export interface Channel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

const NOBODY: Channel = { hasSubscribers: false, publish() {} }

interface Process {
  getBuiltinModule?(name: string): { channel(name: string): Channel } | undefined
}

/** Not imported, which would keep the core out of browsers. */
function channel(name: string): Channel {
  const { process } = globalThis as { process?: Process }
  const all = process?.getBuiltinModule?.('diagnostics_channel')
  return all?.channel(name) ?? NOBODY
}

/** A copy of each `consume` decision. */
export const decisionChannel: Channel = channel('weir:decision')
/** How each call to a store ended: a `StoreCall`. */
export const storeChannel: Channel = channel('weir:store')
/** Each share of a `notifyAt` that usage has crossed: a `Crossing`. */
export const crossingChannel: Channel = channel('weir:crossing')
/** How long each `wait` took: a `Wait`. */
export const waitChannel: Channel = channel('weir:wait')
