// The door for clients. An adapter in clients/ makes a connection of a client; nothing else in
// redis/ knows which client it is. A simulated server comes in by the same door.

/** Sends a command as it is and resolves to the reply, a bulk string as a Buffer or, where replies
 *  are in text, as one. */
export type Send = (command: string, args: string[]) => Promise<unknown>

/** What Weir asks of any client. */
export interface Connection {
  /** Where it leads, as texts: connections of equal places reach the same keys. */
  readonly place: readonly string[]
  /** Keys lie on several nodes, by their hash slots. */
  readonly isCluster: boolean
  /** What the client puts before each key. */
  readonly keyPrefix: string
  /** The number of the database; 0 for a Cluster. */
  readonly database: number
  /** The client makes a text of a bulk string, so bytes that are no UTF-8 are lost. */
  readonly repliesInText?: boolean
  /** For a Cluster: the name of the node that serves a slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  /** Sends one command; the client finds the node. Commands that are sent to one node run there in
   *  the order in which they were sent, each at most once. (ioredis's Cluster sends one again whose
   *  connection has ended, so that it may run twice, unless it was sent by `inOneWrite`.) */
  readonly call: Send
  /**
   * Calls `ask` for each item, in order, with what sends a command to the node. Where the client
   * can do that, the commands leave in one write. A command that the node redirects goes to the
   * right node by `call`.
   */
  inOneWrite<Item>(
    node: string,
    items: readonly Item[],
    ask: (item: Item, send: Send) => void,
  ): void
  /** Why a command would fail now without being sent; undefined: it would be sent. It must be
   *  cheap, as it is asked before each request. */
  unready(): string | undefined
  /**
   * The attempt to connect that is under way; undefined: there is none. Lets a lazy client begin
   * one. The promise resolves when the attempt has succeeded or failed, and never rejects.
   */
  attempt(): Promise<void> | undefined
}
