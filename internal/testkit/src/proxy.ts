// A TCP proxy in front of a server, which imitates faults of the network. Its mode may change at
// any time.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './ports.js'
import { readRequests } from './requests.js'

export type ProxyMode =
  | 'pass'
  /** Accepts connections and delivers nothing in either direction. What was sent arrives when the
   *  mode ends. */
  | 'blackhole'
  /** Delivers to the server, and nothing back. The answers arrive when the proxy passes again, or
   *  are lost with the connection. */
  | 'mute'
  /** Delays everything, in both directions. */
  | { readonly latencyMs: number }
  /** Cuts every connection, old and new, with a reset. */
  | 'reset'
  /** Does not listen, as if the server's process had ended. Resets open connections. */
  | 'refuse'

export interface FaultyProxy {
  readonly port: number
  readonly url: string
  set(mode: ProxyMode): Promise<void>
  readonly stats: ProxyStats
  stop(): Promise<void>
}

export interface ProxyStats {
  connections: number
  /** How many whole commands clients sent, by name in upper case. */
  readonly commands: Map<string, number>
}

export interface ProxyOptions {
  /** Called for each whole command that a client sent, when it arrives, with the number of its
   *  connection. */
  readonly onCommand?: (command: readonly string[], connection: number) => void
}

export async function startProxy(
  targetPort: number,
  options: ProxyOptions = {},
): Promise<FaultyProxy> {
  const port = await freePort()
  const stats: ProxyStats = {
    connections: 0,
    commands: new Map(),
  }
  const sockets = new Set<Socket>()
  let mode: ProxyMode = 'pass'
  const there = createGate()
  const back = createGate()

  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    stats.connections++
    const connection = stats.connections
    if (mode === 'reset') return void client.resetAndDestroy()
    const upstream = connect({
      port: targetPort,
      host: '127.0.0.1',
      noDelay: true,
      allowHalfOpen: true,
    })
    pair(client, upstream)
    const read = readRequests((command) => {
      const name = command[0]?.toUpperCase() ?? ''
      stats.commands.set(name, (stats.commands.get(name) ?? 0) + 1)
      options.onCommand?.(command, connection)
    })
    client.on('data', read)
    forward(client, upstream, there)
    forward(upstream, client, back)
  })

  function pair(client: Socket, upstream: Socket): void {
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(one)
      // If one side fails, the other is reset; an orderly end is forwarded with the data.
      one.on('error', () => other.resetAndDestroy())
      one.on('close', () => sockets.delete(one))
    }
  }

  /** Delivers chunks in their order, each no sooner than its delay and not while the gate is
   *  shut. */
  function forward(from: Socket, to: Socket, gate: Gate): void {
    let tail: Promise<unknown> = Promise.resolve()
    const deliver = (send: () => void): void => {
      const due = performance.now() + (typeof mode === 'object' ? mode.latencyMs : 0)
      tail = tail
        .then(() => sleepUntil(due))
        .then(() => gate.passed())
        .then(() => !to.destroyed && send())
    }
    from.on('data', (chunk) => deliver(() => to.write(chunk)))
    from.on('end', () => deliver(() => to.end()))
  }

  async function set(next: ProxyMode): Promise<void> {
    mode = next
    if (mode === 'blackhole') there.shut()
    else there.open()
    if (mode === 'blackhole' || mode === 'mute') back.shut()
    else back.open()
    if (mode === 'refuse') server.close()
    else if (!server.listening) await listen(server, port)
    if (mode === 'reset' || mode === 'refuse')
      for (const socket of sockets) socket.resetAndDestroy()
  }

  await listen(server, port)
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    set,
    stats,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function sleepUntil(due: number): Promise<void> {
  const left = due - performance.now()
  // Timers round down; a delay may be longer than asked for, but not shorter.
  if (left > 0) await sleep(Math.ceil(left) + 1)
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}

interface Gate {
  /** Resolves at once while the gate is open, otherwise when it opens. */
  passed(): Promise<void>
  shut(): void
  open(): void
}

function createGate(): Gate {
  let shut: Deferred | undefined
  return {
    passed: () => shut?.promise ?? Promise.resolve(),
    shut() {
      shut ??= defer()
    },
    open() {
      shut?.resolve()
      shut = undefined
    },
  }
}

interface Deferred {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

function defer(): Deferred {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
