// Events in a virtual time, which passes only when told to. It uses no clock, timer or random
// number of the process, so an hour takes seconds and is the same in each run.

interface Event {
  readonly atUs: number
  /** Events of one instant happen in the order in which they were planned. */
  readonly order: number
  /** Undefined if the event was cancelled. */
  action: (() => void) | undefined
}

export class Events {
  /** In whole microseconds since 1970. */
  nowUs: number
  /** A binary heap. */
  readonly #events: Event[] = []
  #planned = 0

  constructor(startUs: number) {
    this.nowUs = startUs
  }

  /** Plans an event `us` from now, at least 0. Returns a function that cancels it. */
  after(us: number, action: () => void): () => void {
    const atUs = this.nowUs + Math.max(0, Math.ceil(us))
    const event: Event = { atUs, order: this.#planned, action }
    this.#planned += 1
    this.#push(event)
    return () => {
      event.action = undefined
    }
  }

  /** Lets `us` pass, with all events in that time. */
  async runFor(us: number): Promise<void> {
    await this.runUntil(this.nowUs + us, () => false)
  }

  /** Lets time pass until then, or until `isOver`. Overdue events happen now. */
  async runUntil(endUs: number, isOver: () => boolean): Promise<void> {
    await settled()
    while (!isOver()) {
      const event = this.#events[0]
      if (event === undefined || event.atUs > endUs) {
        this.nowUs = Math.max(this.nowUs, endUs)
        return
      }
      this.#pop()
      const { action } = event
      if (action === undefined) continue
      this.nowUs = Math.max(this.nowUs, event.atUs)
      event.action = undefined
      action()
      await settled()
    }
  }

  #push(event: Event): void {
    const events = this.#events
    let at = events.length
    events.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, events[parent] as Event)) break
      events[at] = events[parent] as Event
      at = parent
    }
    events[at] = event
  }

  #pop(): void {
    const events = this.#events
    const last = events.pop() as Event
    const { length } = events
    if (length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && isBefore(events[child + 1] as Event, events[child] as Event))
        child += 1
      if (!isBefore(events[child] as Event, last)) break
      events[at] = events[child] as Event
      at = child
    }
    events[at] = last
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atUs < other.atUs || (one.atUs === other.atUs && one.order < other.order)
}

/** Resolves when no promise has anything left to do: ticks run after promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
