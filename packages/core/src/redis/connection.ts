// What Weir asks of a client. An adapter in clients/ makes a connection of a client; nothing else
// in redis/ knows which client it is. A simulated server is a connection as well.

/** Sends a command unchanged and resolves to the reply. Bulk strings are Buffers or, if the client
 *  replies in text, strings. */
export type Send = (command: string, args: string[]) => Promise<unknown>

/** What Weir asks of any client. */
export interface Connection {
  /** Where it leads, as texts: connections with equal places reach the same keys. */
  readonly place: readonly string[]
  /** Keys lie on several nodes, by their hash slots. */
  readonly isCluster: boolean
  /** What the client puts before each key. */
  readonly keyPrefix: string
  /** The number of the database; 0 for a Cluster. */
  readonly database: number
  /** The client decodes bulk strings as text, so bytes that are not UTF-8 are lost. */
  readonly repliesInText?: boolean
  /** For a Cluster: the name of the node that serves a slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  /** Sends one command; the client finds the node. Commands that are sent to one node run there in
   *  the order in which they were sent, each at most once. (ioredis's Cluster resends a command
   *  whose connection has ended, which may then run twice, unless it was sent by `inOneWrite`.) */
  readonly call: Send
  /**
   * Calls `ask` for each item, in order, with a function that sends a command to the node. If the
   * client can, it sends all commands in one write. A command that the node redirects goes to the
   * right node by `call`.
   */
  inOneWrite<Item>(
    node: string,
    items: readonly Item[],
    ask: (item: Item, send: Send) => void,
  ): void
  /** What changes when the client connects to a node anew, such as its socket; undefined, or no
   *  such function: that is not known. Must be cheap. */
  lineTo?(node: string): unknown
  /** Why a command would fail now without being sent; undefined: it would be sent. Must be cheap,
   *  as it is called before each request. */
  unready(): string | undefined
  /**
   * The attempt to connect that is under way; undefined: there is none. Lets a lazy client begin
   * one. The promise resolves when the attempt has succeeded or failed, and never rejects.
   */
  attempt(): Promise<void> | undefined
}
