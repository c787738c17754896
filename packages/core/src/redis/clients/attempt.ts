// A client's attempts to connect.

export interface Emitter {
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** By client: all stores on a client wait for one promise, with one set of listeners. */
const attempts: WeakMap<Emitter, Promise<void>> = new WeakMap()

/** Resolves when the attempt that is under way ends: at one of these events. */
export function attemptOf(client: Emitter, ends: readonly string[]): Promise<void> {
  const attempt =
    attempts.get(client) ??
    new Promise<void>((resolve) => {
      const end = (): void => {
        for (const event of ends) client.off(event, end)
        attempts.delete(client)
        resolve()
      }
      for (const event of ends) client.on(event, end)
    })
  attempts.set(client, attempt)
  return attempt
}
