// A simulated Redis server with its clock, scripts and keys. It runs the scripts that Weir sends,
// and refuses other commands.

import { createHash } from 'node:crypto'
import { HEARTBEAT } from '../../../../packages/core/src/redis/heartbeat.js'
import { driverScriptOf, type Place, runDriver } from './driver-script.js'
import { Keyspace, RefusedError } from './keyspace.js'
import { isOfSettings, SettingsScripts } from './settings-scripts.js'

type Script = (keys: readonly string[], args: readonly string[]) => unknown

export class SimulatedRedis {
  readonly keyspace: Keyspace
  /** Called for each request, with the number of times that it was granted. */
  decided: Place['decided'] = undefined
  /** Replaces the reply to heartbeats. */
  beatReply: (() => unknown) | undefined = undefined
  /** It has no memory left: it refuses scripts that write, and runs those that read. */
  isFull = false
  /** By how much its clock was set forward, or back if below 0. */
  aheadUs = 0
  readonly #now: () => number
  readonly #scripts: Map<string, Script> = new Map()
  readonly #settings: SettingsScripts

  /** @param now its clock, in us since 1970 */
  constructor(now: () => number) {
    this.#now = now
    this.keyspace = new Keyspace(() => this.nowUs / 1_000)
    this.#settings = new SettingsScripts(this.keyspace)
  }

  get nowUs(): number {
    return this.#now() + this.aheadUs
  }

  /** SCRIPT FLUSH, or a restart. */
  forgetScripts(): void {
    this.#scripts.clear()
  }

  /** FLUSHALL. */
  forgetKeys(): void {
    this.keyspace.clear()
  }

  /** SCRIPT LOAD. */
  load(source: string): string {
    const sha = createHash('sha1').update(source).digest('hex')
    if (!this.#scripts.has(sha)) this.#scripts.set(sha, this.#scriptOf(source))
    return sha
  }

  /**
   * Runs a command. Its changes are made at once, even if the reply is a promise.
   * @throws {RefusedError} with the text of a real server
   */
  run(command: string, args: readonly string[], _isAsking: boolean = false): unknown {
    const [what = '', count = '0', ...rest] = args
    if (command !== 'evalsha' && command !== 'eval')
      throw new RefusedError(`ERR unknown command '${command}'`)
    const script = this.#scripts.get(command === 'eval' ? this.load(what) : what)
    if (script === undefined)
      throw new RefusedError('NOSCRIPT No matching script. Please use EVAL.')
    this.keyspace.refusesWrites = this.isFull
    return script(rest.slice(0, Number(count)), rest.slice(Number(count)))
  }

  #scriptOf(source: string): Script {
    if (source === HEARTBEAT)
      return ([key, watched], args) => {
        const reply = this.#beat(key as string, watched as string, args)
        return this.beatReply === undefined ? reply : this.beatReply()
      }
    const driver = driverScriptOf(source)
    if (driver !== undefined) return (keys, args) => runDriver(driver, keys, args, this)
    if (!isOfSettings(source)) throw new RefusedError('ERR a script that this server does not know')
    return (keys, args) => this.#settings.run(source, keys, args, this.nowUs)
  }

  /** The twin of the script in heartbeat.ts. */
  #beat(
    key: string,
    watched: string,
    [id = '', goneMs = '', leaves = '']: readonly string[],
  ): readonly number[] {
    // It begins by removing those that are gone.
    this.keyspace.refusesWrites = false
    const nowMs = Math.floor(this.nowUs / 1_000)
    const before = this.keyspace.get<ReadonlyMap<string, number>>(key) ?? new Map()
    const there = new Map([...before].filter(([, untilMs]) => untilMs > nowMs))
    there.delete(id)
    if (leaves === '1') {
      this.keyspace.set(key, there, Math.max(0, this.keyspace.ttlMs(key)))
      return [0, 0, 0]
    }
    there.set(id, nowMs + Number(goneMs))
    this.keyspace.set(key, there, Number(goneMs))
    const ids = [...there.keys()].sort()
    return [ids.length, ids.indexOf(id), Math.max(0, this.keyspace.ttlMs(watched))]
  }
}
