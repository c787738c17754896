/**
 * Ms on the machine's monotonic clock: the same for all processes, even if their host clock is
 * skewed.
 */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Shifts the host's clock for this process. Call it before any other module reads the clock. */
export function skewClock(byMs: number): void {
  if (byMs === 0) return
  const Real = Date
  const read = (): number => Real.now() + byMs
  class SkewedDate extends Real {
    constructor(...args: []) {
      if (args.length === 0) super(read())
      else super(...args)
    }
    static override now(): number {
      return read()
    }
  }
  globalThis.Date = SkewedDate as DateConstructor
  Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + byMs })
}
