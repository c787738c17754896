// The journal of a client process, sent in pieces, so that a process that crashes has reported what
// it saw.
import type { RedisStore } from '@weir/core'
import type { FromClient, Log, Sample, Stall } from './protocol.js'
import { now } from './time.js'

const EVERY_MS = 200

type Open<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer V)[] ? V[] : T[K] }

export class Journal {
  #log: Open<Log> = emptyLog()
  readonly #timer: NodeJS.Timeout = setInterval(() => this.flush(), EVERY_MS)

  constructor() {
    process.on('uncaughtException', (error) =>
      this.#log.crashes.push(String(error?.stack ?? error)),
    )
    process.on('unhandledRejection', (error) => this.#log.rejections.push(String(error)))
    process.on('warning', (warning) => {
      this.#log.warnings.push(
        `${(warning as { code?: string }).code ?? warning.name}: ${warning.message}`,
      )
    })
  }

  sample(sample: Sample): void {
    this.#log.samples.push(sample)
  }

  stall(stall: Stall): void {
    this.#log.stalls.push(stall)
  }

  /** Records each change of the breaker's state, and each event. */
  watch(store: RedisStore): { look(): void } {
    let last = ''
    for (const name of EVENTS) {
      store.on(name, (detail) => this.#log.events.push({ at: now(), name, detail: brief(detail) }))
    }
    return {
      look: () => {
        const state = store.health().state
        if (state === last) return
        last = state
        this.#log.transitions.push({ at: now(), state })
      },
    }
  }

  flush(): void {
    const log = this.#log
    this.#log = emptyLog()
    tell({ is: 'log', log })
  }

  end(): void {
    clearInterval(this.#timer)
    this.flush()
  }
}

/** Without `fallback`, which comes with each degraded decision and is visible there. */
const EVENTS = ['breaker', 'reconciled', 'data-loss', 'key-error'] as const

function emptyLog(): Open<Log> {
  return {
    samples: [],
    stalls: [],
    transitions: [],
    events: [],
    crashes: [],
    rejections: [],
    warnings: [],
  }
}

function brief(detail: unknown): string {
  try {
    return JSON.stringify(detail)?.slice(0, 200) ?? String(detail)
  } catch {
    return String(detail)
  }
}

export function tell(message: FromClient): void {
  process.send?.(message)
}
