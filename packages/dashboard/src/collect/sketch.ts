// The most counted of any number of keys, in a fixed number of slots: the Space-Saving algorithm
// (Metwally, Agrawal, El Abbadi 2005). A key without a slot takes the slot with the smallest count
// and counts on from there; the count that it took over is its error.
//
// With m slots and n keys counted: count - error <= true count <= count; no error is above n / m;
// and a key whose true count is above n / m has a slot.

/** A key, and what is known about it. */
export class Slot {
  key: string
  /** Stands for the key without revealing it; each key that takes the slot gets a new one. */
  handle: string
  /** The key was counted at most this often, and at least `count - error` times. */
  count: number
  error: number
  /** The slot's place in the heap. */
  place: number
  lastMs = 0
  policy = ''
  /** `Infinity`: never. */
  retryAfterMs = 0
  /** The key as it is shown; undefined until it has been shown. */
  shown: string | undefined = undefined

  constructor(key: string, handle: string, place: number) {
    this.key = key
    this.handle = handle
    this.count = 0
    this.error = 0
    this.place = place
  }
}

export class Sketch {
  readonly #slots: number
  readonly #handle: () => string
  readonly #byKey = new Map<string, Slot>()
  /** The smallest count first: no count is above those at places 2i + 1 and 2i + 2. */
  readonly #heap: Slot[] = []

  /** @param handle returns a text that no other key has */
  constructor(slots: number, handle: () => string) {
    this.#slots = slots
    this.#handle = handle
  }

  /** Counts a key once. Returns its slot, for the caller to fill in. */
  add(key: string): Slot {
    const slot = this.#byKey.get(key) ?? this.#slotFor(key)
    slot.count += 1
    this.#sink(slot)
    return slot
  }

  #slotFor(key: string): Slot {
    const heap = this.#heap
    let slot: Slot
    if (heap.length < this.#slots) {
      slot = new Slot(key, this.#handle(), heap.length)
      heap.push(slot)
      // Its count is 0, so it is the smallest.
      this.#rise(slot)
    } else {
      slot = heap[0] as Slot
      this.#byKey.delete(slot.key)
      slot.key = key
      slot.handle = this.#handle()
      slot.error = slot.count
      slot.shown = undefined
    }
    this.#byKey.set(key, slot)
    return slot
  }

  #rise(slot: Slot): void {
    while (slot.place > 0) {
      const above = this.#heap[(slot.place - 1) >> 1] as Slot
      if (above.count <= slot.count) return
      this.#swap(slot, above)
    }
  }

  #sink(slot: Slot): void {
    const heap = this.#heap
    for (;;) {
      const left = heap[2 * slot.place + 1]
      const right = heap[2 * slot.place + 2]
      const below =
        right !== undefined && left !== undefined && right.count < left.count ? right : left
      if (below === undefined || below.count >= slot.count) return
      this.#swap(slot, below)
    }
  }

  #swap(one: Slot, two: Slot): void {
    const { place } = one
    one.place = two.place
    two.place = place
    this.#heap[one.place] = one
    this.#heap[two.place] = two
  }

  /** The most counted, the largest count first; among equal counts, the smallest error first. */
  top(most: number): readonly Slot[] {
    return [...this.#heap]
      .sort((one, two) => two.count - one.count || one.error - two.error)
      .slice(0, most)
  }

  /** The key of a handle. Undefined: no slot has the key any more. */
  keyOf(handle: string): string | undefined {
    return this.#heap.find((slot) => slot.handle === handle)?.key
  }
}
