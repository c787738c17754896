// Calls under a key act in the order in which they were made, without waiting for each other, as
// the store is asked in that order. Only an action of several steps makes those that follow wait.

export class InOrder {
  /** By key: the last action of several steps. It never rejects. */
  readonly #busy: Map<string, Promise<void>> = new Map()

  act<Result>(key: string, action: () => Promise<Result>): Promise<Result> {
    const busy = this.#busy.get(key)
    return busy === undefined ? action() : busy.then(action)
  }

  /** For an action that asks the store again once it has answered. */
  inSteps<Result>(key: string, action: () => Promise<Result>): Promise<Result> {
    const result = this.act(key, action)
    const end = (): void => {
      if (this.#busy.get(key) === ended) this.#busy.delete(key)
    }
    const ended = result.then(end, end)
    this.#busy.set(key, ended)
    return result
  }
}
