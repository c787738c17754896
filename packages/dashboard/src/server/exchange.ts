// A request and its answer, as all servers have them: node.ts and fetch.ts translate.

import type { IncomingMessage } from 'node:http'

/** A request for the page. */
export interface Asked {
  readonly method: string
  /** Where the page is mounted, without a slash at its end. */
  readonly base: string
  /** What follows the mount and a slash: `''`, `'app.js'`. Undefined: the mount itself, without a
   *  slash. */
  readonly path: string | undefined
  /** Without the question mark. */
  readonly query: string
  /** It came by TLS, to this server or to a proxy. Made up by the client, it harms the client. */
  readonly isSecure: boolean
  /** For `authorize`. */
  readonly original: IncomingMessage | Request
  /** The value of a header, by its name in lower case. */
  header(name: string): string | undefined
  /** The body as JSON. @throws {Refused} */
  json(): Promise<unknown>
}

/** An answer: a text, or a stream of texts. */
export type Answer = Plain | Streamed

interface Plain {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Streamed {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  /** Called once the answer has begun. Returns what to call when its reader is gone. */
  readonly open: (reader: Reader) => () => void
}

/** Who reads a stream. */
export interface Reader {
  /** Sends a text; where the last one is still under way, sends nothing. Answers whether it did. */
  send(text: string): boolean
  /** Ends the stream. */
  end(): void
}
