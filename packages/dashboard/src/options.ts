// What the dashboard is given.

import { quote } from '@weir/core/http'
import type { ActionNote } from './protocol.js'
import type { Authorize } from './server/access.js'
import type { Limiters } from './watched.js'

/** Options of `dashboard()`. */
export interface DashboardOptions {
  /** What is shown: limiters, middleware that has one, `overload()`, `livePolicies()`; or a
   *  function that gives what there is now. Their stores are shown, too. */
  readonly limiters: Limiters
  /**
   * Says who may see the page: false, true, or the name under which actions are noted. Asked for
   * each request but those for scripts and styles; what it throws is a refusal with 500. Default: a
   * token is needed, which is made at the start and printed.
   * @example authorize: (request: express.Request) => request.user?.isAdmin && request.user
   */
  readonly authorize?: Authorize | undefined
  /** True: who sees the page may change limits, reset and block keys, and switch limiters off.
   *  Default false. */
  readonly actions?: boolean | undefined
  /** True: keys are shown whole. Default false: their start and a mark are. */
  readonly showKeys?: boolean | undefined
  /** Where the page is, below where the framework mounts it: `'/weir'`. For what has no mounts,
   *  such as Koa, `node:http` and Fetch. Default: there. */
  readonly path?: string | undefined
  /** Called when somebody has done something, or tried to. `key`: the whole key that it was
   *  about. */
  readonly onAction?:
    | ((note: ActionNote & { readonly key?: string | undefined }) => void)
    | undefined
  /** Prints a line: with the token, at the start, and once if a function of yours fails. Default
   *  `console.log`. */
  readonly log?: ((line: string) => void) | undefined
}

const TYPES: Readonly<Record<Exclude<keyof DashboardOptions, 'limiters'>, string>> = {
  authorize: 'function',
  actions: 'boolean',
  showKeys: 'boolean',
  path: 'string',
  onAction: 'function',
  log: 'function',
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION */
export function checkOptions(options: DashboardOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(`dashboard() was given ${quote(options)}; give an object of options`)
  const unknown = Object.keys(options).find(
    (name) => name !== 'limiters' && !Object.hasOwn(TYPES, name),
  )
  if (unknown !== undefined) {
    const known = ['limiters', ...Object.keys(TYPES)].join(', ')
    throw invalid(`dashboard() does not know the option ${quote(unknown)}; there are ${known}`)
  }
  for (const [name, type] of Object.entries(TYPES)) {
    const value = options[name as keyof typeof TYPES] as unknown
    if (value !== undefined && typeof value !== type)
      throw invalid(`${name} is ${quote(value)}; give a ${type}`)
  }
  const { path = '' } = options
  if (!/^(\/[\w.~-]+)*\/?$/.test(path))
    throw invalid(`path is ${quote(path)}; give one such as '/weir'`, RangeError)
}

function invalid(what: string, Kind: ErrorConstructor = TypeError): Error {
  const error = new Kind(`${what} (see docs/errors.md#weir_invalid_option)`)
  return Object.assign(error, { code: 'WEIR_INVALID_OPTION' })
}
