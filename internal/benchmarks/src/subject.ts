/** A limiter, or a floor, that is set up and has a limit. */
export interface Subject {
  /** Decides once, by the call that its users make. */
  ask(key: string): unknown
  /** The units left, according to an answer; NaN if the answer does not say. */
  left(answer: unknown): number
  /** Whether an answer that did not reject allows the request; undefined: floors do not refuse. */
  allowed?(answer: unknown): boolean
  close(): unknown
}
