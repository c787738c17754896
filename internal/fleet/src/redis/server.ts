// A simulated Redis server: its clock, its scripts and its keys. It runs the scripts that Weir
// sends, and refuses other commands.

import { createHash } from 'node:crypto'
import { HEARTBEAT } from '../../../../packages/core/src/redis/heartbeat.js'
import { type DriverScript, driverScriptOf, runDriver } from './driver-script.js'
import { Keyspace } from './keyspace.js'

/** What a command is refused with, as a client tells it. */
export class RefusedError extends Error {}

export class SimulatedRedis {
  readonly keyspace: Keyspace
  readonly #now: () => number
  readonly #scripts: Map<string, DriverScript> = new Map()

  /** @param now its clock, in us since 1970 */
  constructor(now: () => number) {
    this.#now = now
    this.keyspace = new Keyspace(() => this.nowUs / 1_000)
  }

  get nowUs(): number {
    return this.#now()
  }

  /** SCRIPT FLUSH, or a restart. */
  forgetScripts(): void {
    this.#scripts.clear()
  }

  /** SCRIPT LOAD. */
  load(source: string): string {
    const script = driverScriptOf(source)
    if (script === undefined) throw new RefusedError('ERR a script that this server does not know')
    const sha = createHash('sha1').update(source).digest('hex')
    this.#scripts.set(sha, script)
    return sha
  }

  /** @throws {RefusedError} what the server would say */
  run(command: string, args: readonly string[], _isAsking?: boolean): unknown {
    const [what = '', count = '0', ...rest] = args
    const keys = rest.slice(0, Number(count))
    const others = rest.slice(Number(count))
    if (command === 'evalsha') {
      const script = this.#scripts.get(what)
      if (script === undefined)
        throw new RefusedError('NOSCRIPT No matching script. Please use EVAL.')
      return runDriver(script, keys, others, this)
    }
    if (command !== 'eval') throw new RefusedError(`ERR unknown command '${command}'`)
    if (what === HEARTBEAT) return this.#beat(keys[0] as string, others)
    const script = this.#scripts.get(this.load(what)) as DriverScript
    return runDriver(script, keys, others, this)
  }

  /** Twin of heartbeat.ts's script. */
  #beat(key: string, [id = '', goneMs = '', leaves = '']: readonly string[]): readonly number[] {
    const nowMs = Math.floor(this.nowUs / 1_000)
    const before = this.keyspace.get<ReadonlyMap<string, number>>(key) ?? new Map()
    const there = new Map([...before].filter(([, untilMs]) => untilMs > nowMs))
    there.delete(id)
    if (leaves === '1') {
      this.keyspace.set(key, there, Math.max(0, this.keyspace.ttlMs(key)))
      return [0, 0]
    }
    there.set(id, nowMs + Number(goneMs))
    this.keyspace.set(key, there, Number(goneMs))
    const ids = [...there.keys()].sort()
    return [ids.length, ids.indexOf(id)]
  }
}
