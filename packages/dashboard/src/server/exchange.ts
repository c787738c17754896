// A request and its answer, independent of the server: node.ts and fetch.ts translate.

import type { IncomingMessage } from 'node:http'

/** A request for the page. */
export interface PageRequest {
  readonly method: string
  /** Where the page is mounted, without a slash at its end. */
  readonly base: string
  /** What follows the mount and a slash: `''`, `'app.js'`. Undefined: the mount itself, without a
   *  slash. */
  readonly path: string | undefined
  /** Without the question mark. */
  readonly query: string
  /** Whether the request came by TLS, to this server or to a proxy. A client that forges this harms
   *  only itself. */
  readonly isSecure: boolean
  /** For `authorize`. */
  readonly original: IncomingMessage | Request
  /** The value of a header, by its name in lower case. */
  header(name: string): string | undefined
  /** The body as JSON. @throws {Refused} */
  json(): Promise<unknown>
}

/** An answer: one text, or a stream of texts. */
export type Answer = Plain | Streamed

interface Plain {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Streamed {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  /** Called once the answer has begun. Returns a function to call when the reader is gone. */
  readonly open: (reader: Reader) => () => void
}

/** The client that reads a stream. */
export interface Reader {
  /** Sends a text, unless the last one is still being sent. Returns whether it did. */
  send(text: string): boolean
  /** Ends the stream. */
  end(): void
}
