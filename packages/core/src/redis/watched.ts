// Whether somebody watches the processes that share a prefix, as a dashboard does:
//
//   <prefix>:{instances}:watched   a text with a TTL: for how long somebody will
//
// Heartbeats read the TTL with what they read anyhow, so nobody asks Redis for it. The key is
// beside theirs, in their slot of a Cluster.

import { checkedNumber, ofType } from '../base/options.js'
import type { Time } from '../base/time.js'
import { notify } from '../base/warnings.js'
import type { Settings } from '../settings.js'
import type { Ask } from './reports.js'

/** What is read is cut to this, as hands may have written it. */
const LONGEST_MS = 60_000
/** Of two heartbeats one may be lost. */
const SHORTEST_MS = 6_000

// KEYS [1] the key   ARGV [2] for how many ms. Another watcher may have asked for more.
export const WATCH = `
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
end
return 1
`

/** What the script calls, beside TIME: for ACLs. */
export const WATCH_COMMANDS: readonly string[] = ['PTTL', 'SET']

/** The key, after the prefix. */
export function watchedKey(tag: string): string {
  return `{${tag}}:watched`
}

type Listener = Parameters<Required<Settings>['onWatched']>[0]

/** What a process knows of it. */
export class Watched {
  readonly #time: Time
  readonly #listeners: Set<{ readonly listener: Listener }> = new Set()
  #isWatched = false
  #cancel = (): void => {}

  constructor(time: Time) {
    this.#time = time
  }

  /** @param ms for how much longer somebody watches, as the answer to a heartbeat says: a number
   *  above 0, or nobody does. It ends then unless another answer comes before. */
  heard(ms: unknown): void {
    this.#cancel()
    const isWatched = typeof ms === 'number' && ms > 0
    if (isWatched)
      this.#cancel = this.#time.after(Math.min(ms, LONGEST_MS), () => this.heard(undefined))
    if (isWatched === this.#isWatched) return
    this.#isWatched = isWatched
    for (const each of [...this.#listeners]) tell(each.listener, isWatched)
  }

  /** @throws {TypeError} WEIR_INVALID_OPTION */
  on(listener: Listener): () => void {
    ofType('function')(listener, 'listener of onWatched')
    const own = { listener }
    this.#listeners.add(own)
    if (this.#isWatched) tell(listener, true)
    return () => void this.#listeners.delete(own)
  }
}

function tell(listener: Listener, isWatched: boolean): void {
  notify('a listener', 'onWatched', () => listener(isWatched))
}

export function redisWatching(
  ask: Ask,
  watched: Watched,
  tag: string,
): Required<Pick<Settings, 'watch' | 'onWatched'>> {
  return {
    async watch(ttlMs) {
      checkedNumber('ttlMs', ttlMs, SHORTEST_MS, LONGEST_MS)
      await ask(WATCH, '', [String(ttlMs)], [watchedKey(tag)])
    },
    onWatched: (listener) => watched.on(listener),
  }
}
