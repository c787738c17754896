// Who is counted most, of any number of keys, in a fixed number of slots: the algorithm
// Space-Saving (Metwally, Agrawal, El Abbadi 2005). A key without a slot takes that of the smallest
// count, and goes on from there; what it took over is the error of its count.
//
// With m slots and n keys counted: count - error <= true count <= count; no error is above n / m;
// and a key whose true count is above n / m has a slot.

/** A key, and what is known of it. */
export class Slot {
  key: string
  /** Tells the key without saying it; another one for each key that takes the slot. */
  handle: string
  /** At most how often it was counted, and at least that less `error`. */
  count: number
  error: number
  /** In the heap. */
  place: number
  lastMs = 0
  policy = ''
  /** `Infinity`: never. */
  retryAfterMs = 0
  /** The key as it is shown, once it was. */
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
  /** The smallest count first: no slot is above those at twice its place, plus 1 and 2. */
  readonly #heap: Slot[] = []

  /** @param handle gives a text that no other key has */
  constructor(slots: number, handle: () => string) {
    this.#slots = slots
    this.#handle = handle
  }

  /** Counts a key once. Answers its slot, to be filled in. */
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

  /** The most counted, most first; of equal counts, what is surest. */
  top(most: number): readonly Slot[] {
    return [...this.#heap]
      .sort((one, two) => two.count - one.count || one.error - two.error)
      .slice(0, most)
  }

  /** The key of a handle. Undefined: no slot has it any more. */
  keyOf(handle: string): string | undefined {
    return this.#heap.find((slot) => slot.handle === handle)?.key
  }
}
