// The servers, proxies and clients of one row, which end with it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ClusterOptions,
  type Connection,
  type FaultyProxy,
  openConnection,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
  type ServerOptions,
  startCluster,
  startProxy,
  startRedis,
  startSentinel,
} from '@weir/testkit'
import { type Loop, openLoop } from './client/load.js'
import type { Job, Stall, Stop } from './client/protocol.js'
import { now } from './client/time.js'
import { type ClientProcess, type Report, startClient } from './process.js'

/** A call of Weir's script, as it passed the proxy. */
export interface ScriptCall {
  readonly at: number
  readonly connection: number
  readonly name: string
  readonly keys: readonly string[]
  readonly mode: string
}

export interface Wire extends FaultyProxy {
  readonly calls: readonly ScriptCall[]
}

export class Stage {
  readonly reports: Report[] = []
  /** Stalls of the runner's event loop, which also runs the proxies. */
  readonly stalls: Stall[] = []
  readonly begun: number = now()
  /** Changes to the job of every client. */
  readonly changes: Partial<Job>
  #instead: (job: Job) => Partial<Job> = () => ({})
  readonly #ends: (() => Promise<void>)[] = []
  readonly #loop: Loop = openLoop(
    0,
    1,
    () => {},
    (stall) => this.stalls.push(stall),
  )

  /** @param changes changes to the job of every client: another setup, or a misbehaviour that a row
   *  has to detect */
  constructor(changes: Partial<Job> = {}) {
    this.changes = changes
  }

  async redis(options: ServerOptions = {}): Promise<RedisServer> {
    return this.#ending(await startRedis(options))
  }

  async cluster(options: ClusterOptions): Promise<RedisCluster> {
    return this.#ending(await startCluster(options))
  }

  async sentinel(): Promise<RedisSentinel> {
    return this.#ending(await startSentinel())
  }

  /** A folder that outlives servers. */
  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-faults-'))
    this.onEnd(() => rm(folder, { recursive: true, force: true }))
    return folder
  }

  connection(port: number): Connection {
    const connection = openConnection(port)
    this.onEnd(async () => connection.close())
    return connection
  }

  /** @param onCall called before a call is passed on */
  async proxy(targetPort: number, onCall?: (call: ScriptCall) => void): Promise<Wire> {
    const calls: ScriptCall[] = []
    const proxy = await startProxy(targetPort, {
      onCommand: (command, connection) => {
        const parsed = scriptCall(command)
        if (parsed === undefined) return
        const call = { ...parsed, at: now(), connection }
        calls.push(call)
        onCall?.(call)
      },
    })
    return this.#ending(Object.assign(proxy, { calls }))
  }

  /** Clients do this in place of what their jobs say. */
  instead(change: (job: Job) => Partial<Job>): void {
    this.#instead = change
  }

  async client(job: Job): Promise<ClientProcess> {
    const store = { ...job.store, ...this.changes.store }
    const client = startClient({ ...job, ...this.#instead(job), ...this.changes, store })
    let stopped: Promise<Report> | undefined
    const stop = (message?: Partial<Stop>): Promise<Report> => {
      stopped ??= client.stop(message).then((report) => {
        this.reports.push(report)
        return report
      })
      return stopped
    }
    this.onEnd(async () => void (await stop()))
    await client.started
    return { ...client, stop }
  }

  onEnd(end: () => Promise<void>): void {
    this.#ends.push(end)
  }

  /** Ends everything in reverse order, so that clients end before their servers. */
  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end()
    this.#loop.stop()
  }

  #ending<T extends { stop(): Promise<void> }>(started: T): T {
    this.onEnd(() => started.stop())
    return started
  }
}

const MODE = /\b(peek|refund|penalty|reconcile|restore|reset)\b/

/** The driver's arguments: the number of keys, the keys, the numbers of policies, and perhaps a
 *  clock and a mode. */
function scriptCall(
  command: readonly string[],
): Pick<ScriptCall, 'name' | 'keys' | 'mode'> | undefined {
  const name = command[0]?.toUpperCase() ?? ''
  if (name !== 'EVALSHA' && name !== 'EVAL') return undefined
  const count = Number(command[2])
  return {
    name,
    keys: command.slice(3, 3 + count),
    mode: MODE.exec(command.slice(3 + count).join(' '))?.[0] ?? 'consume',
  }
}
