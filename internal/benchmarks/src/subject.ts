/** A limiter, or a floor, that is set up and has a limit. */
export interface Subject {
  /** Decides once, in the way that its users call it. */
  ask(key: string): unknown
  /** Units left, by an answer; NaN: it does not tell. */
  left(answer: unknown): number | Promise<number>
  /** By an answer that did not reject; undefined: floors do not refuse. */
  allowed?(answer: unknown): boolean
  /** Whether it takes units ahead. What a busy machine gives back too late stays counted. */
  readonly takesAhead?: boolean
  close(): unknown
}
