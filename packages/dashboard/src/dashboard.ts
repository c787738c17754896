// The dashboard: one page that shows limiters at work, on any server.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { quote } from '@weir/core/internal'
import { Notes } from './act/notes.js'
import { Collector } from './collect/collector.js'
import { checkOptions, type DashboardOptions } from './options.js'
import { accessBy } from './server/access.js'
import { fetchHandler } from './server/fetch.js'
import { type Next, nodeHandler } from './server/node.js'
import type { Serving } from './server/routes.js'
import { Viewers } from './server/viewers.js'
import { processTime, type Time } from './time.js'
import { allOf } from './watched.js'

/** What `dashboard()` returns. */
export interface Dashboard {
  /**
   * Answers requests for the page: a handler for Express, middie, Nest and `node:http`. Hands
   * others to `next`, or answers them with 404.
   *
   * @example app.use('/weir', dashboard({ limiters: [limiter] }).handler)
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse, next?: Next) => void
  /**
   * The same for `Request` and `Response`. Never rejects.
   *
   * @example Bun.serve({ fetch: dashboard({ limiters: [limiter] }).fetch })
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * The address to open, with the token if one is needed.
   *
   * @param base where the page is mounted: `'http://localhost:3000/weir'`
   */
  address(base: string): string
  /** Makes another token, prints it, and disconnects all viewers: the old one and its cookies are
   *  void. With `authorize`, there is none. */
  newToken(): void
  /** Disconnects all viewers for good, and ends timers and subscriptions. */
  close(): void
}

/**
 * A page that shows what limiters do: decisions, refused keys, stores, live limits, and all
 * processes that share a store. It costs nothing while nobody looks.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 * @example
 * const limiter = rateLimit({ limit: 100, window: '1m' })
 * app.use('/weir', dashboard({ limiters: [limiter] }).handler)
 */
export function dashboard(options: DashboardOptions): Dashboard {
  return dashboardIn(processTime, options)
}

/** `dashboard` with a clock and timers other than the process's. */
export function dashboardIn(time: Time, options: DashboardOptions): Dashboard {
  checkOptions(options)
  const { limiters, actions = false, showKeys = false, log = console.log, onAction } = options
  const path = (options.path ?? '').replace(/\/$/, '')
  const failed = tellingOnce(log)
  const notes = new Notes((note, key) => {
    // It may be async: a rejection that nobody handles would end the process.
    const told = async (): Promise<void> => onAction?.({ ...note, key })
    told().catch((error: unknown) => failed('onAction', error))
  })
  const collector = new Collector(time, allOf(limiters), {
    showKeys,
    notes: () => notes.all,
    failed: (error) => failed('limiters', error),
  })
  const access = accessBy(options.authorize, time, (error) => failed('authorize', error))
  const viewers = new Viewers(time, collector, (error) => failed('a frame', error))
  const serving: Serving = { access, collector, notes, viewers, time, mayAct: actions, failed }
  const printToken = (): void => {
    if (access.token !== undefined)
      log(`Weir's dashboard opens where it is mounted, with /?token=${access.token}`)
  }
  printToken()

  return {
    handler: nodeHandler(serving, path),
    fetch: fetchHandler(serving, path),
    address(base) {
      const at = base.replace(/\/+$/, '')
      const { token } = access
      return token === undefined ? `${at}/` : `${at}/?token=${token}`
    },
    newToken() {
      if (access.token === undefined) return
      access.renew()
      viewers.disconnect()
      printToken()
    },
    close() {
      viewers.close()
      collector.close()
    },
  }
}

/** Logs each kind of failure once: failures that recur every second would fill the log. */
function tellingOnce(log: (line: string) => void): (what: string, error: unknown) => void {
  const known = new Set<string>()
  return (what, error) => {
    if (known.has(what)) return
    known.add(what)
    try {
      log(`Weir's dashboard: ${what} failed: ${quote(error)}`)
    } catch {
      // Called from timers, where a `log` that throws would end the process.
    }
  }
}
