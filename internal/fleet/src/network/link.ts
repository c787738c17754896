// A simulated connection of a client to a machine, from the attempt to connect to its end. As in
// ioredis, replies come in the order of the commands, and commands without a reply are rejected
// when the connection ends. The client decides whether to open another one.

import type { Machine, Reply } from '../redis/machine.js'
import type { Host } from '../world/host.js'
import type { Latency, Way } from './wire.js'

/** From the recommended options. */
const CONNECT_TIMEOUT_US = 500_000

/** What ioredis reports for a command without a reply when its connection ends. */
export const CLOSED = 'Connection is closed.'

export type LinkStatus = 'wait' | 'connecting' | 'ready' | 'end'

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export interface LinkOptions {
  readonly host: Host
  readonly machine: Machine
  /** The network in both directions, which no other connection uses until this one has ended. */
  readonly there: Way
  readonly back: Way
  readonly latency: Latency
  /** Called when the connection is ready, and when it has ended or could not be made. */
  readonly ready?: (() => void) | undefined
  readonly ended?: ((why: string) => void) | undefined
}

/** What a connection shares with a `NodeConnection` of ioredis. */
export class Link {
  status: LinkStatus = 'wait'
  readonly machine: Machine
  readonly stream: { bytesRead: number; destroy(error: Error): void }
  readonly #options: LinkOptions
  /** Commands that were sent and not answered. */
  #waiting: Waiting[] = []
  /** Commands from before the connection was ready. */
  #queued: (() => void)[] = []

  constructor(options: LinkOptions) {
    this.#options = options
    this.machine = options.machine
    this.stream = { bytesRead: 0, destroy: (error) => this.end(error.message) }
  }

  connect(): void {
    if (this.status !== 'wait') return
    this.status = 'connecting'
    const { host, machine, there, back, latency } = this.#options
    const isConnecting = (): boolean => this.status === 'connecting'
    const tooLate = host.run(CONNECT_TIMEOUT_US, () => {
      if (isConnecting()) this.end('connect ETIMEDOUT')
    })
    if (machine.isDown) {
      host.run(latency.mostUs, () => {
        tooLate()
        if (isConnecting()) this.end('connect ECONNREFUSED')
      })
      return
    }
    // The handshake and the client's first commands, as one round trip.
    const greeted = (): void => {
      if (!isConnecting()) return
      tooLate()
      this.status = 'ready'
      this.#options.ready?.()
      for (const send of this.#queued.splice(0)) send()
    }
    there.send(() =>
      machine.serve({ by: host.name, command: 'hello', args: [] }, () =>
        back.send(() => host.run(0, greeted)),
      ),
    )
  }

  /** Sends a command, at the latest when it is connected.
   *  @param isAsking after ASKING, which travels with the command */
  send(command: string, args: readonly string[], isAsking: boolean = false): Promise<unknown> {
    if (this.status === 'end') return Promise.reject(new Error(CLOSED))
    this.connect()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      const send = (): void => this.#send(command, args, isAsking)
      if (this.status === 'ready') send()
      else this.#queued.push(send)
    })
  }

  /** Ends the connection; messages on their way are lost. */
  end(why: string): void {
    if (this.status === 'end') return
    const hadBegun = this.status !== 'wait'
    this.status = 'end'
    const { there, back } = this.#options
    if (hadBegun) {
      there.drop()
      back.drop()
    }
    for (const { reject } of this.#waiting.splice(0)) reject(new Error(CLOSED))
    this.#options.ended?.(why)
  }

  #send(command: string, args: readonly string[], isAsking: boolean): void {
    const { host, machine, there, back } = this.#options
    there.send(() =>
      machine.serve({ by: host.name, command, args, isAsking }, (reply) => {
        if (this.status === 'ready') back.send(() => host.run(0, () => this.#answered(reply)))
      }),
    )
  }

  #answered(reply: Reply): void {
    if (this.status !== 'ready') return
    this.stream.bytesRead += 1
    const first = this.#waiting.shift()
    if ('error' in reply) first?.reject(reply.error)
    else first?.resolve(reply.value)
  }
}
