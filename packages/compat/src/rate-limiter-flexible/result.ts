// What a limiter reports for a key: what `consume` resolves to, and what it rejects with.

export interface IRateLimiterRes {
  msBeforeNext?: number
  remainingPoints?: number
  consumedPoints?: number
  isFirstInDuration?: boolean
}

/** It has the form of rate-limiter-flexible's result. It is not an Error, so that callers can tell
 *  a refusal from a failure. */
export class RateLimiterRes {
  readonly remainingPoints: number
  /** The ms until a refused request may be made again, or else until nothing is counted. */
  readonly msBeforeNext: number
  readonly consumedPoints: number
  readonly isFirstInDuration: boolean

  constructor(
    remainingPoints: number = 0,
    msBeforeNext: number = 0,
    consumedPoints: number = 0,
    isFirstInDuration: boolean = false,
  ) {
    this.remainingPoints = remainingPoints
    this.msBeforeNext = msBeforeNext
    this.consumedPoints = consumedPoints
    this.isFirstInDuration = isFirstInDuration
  }

  toString(): string {
    return JSON.stringify(this)
  }

  toJSON(): Required<IRateLimiterRes> {
    return { ...this }
  }
}
