import { subscribe, unsubscribe } from 'node:diagnostics_channel'

export type Unsubscribe = () => void

/**
 * Listens to a channel of @weir/core. Errors that the listener throws are dropped: Node would end
 * the process.
 */
export function listen<Message>(name: string, listener: (message: Message) => void): Unsubscribe {
  const guarded = (message: unknown): void => {
    try {
      listener(message as Message)
    } catch {
      // An SDK that fails to record has its own ways to say so.
    }
  }
  subscribe(name, guarded)
  return () => void unsubscribe(name, guarded)
}
