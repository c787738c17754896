// The dashboard's options.

import { quote } from '@weir/core/internal'
import type { ActionNote } from './protocol.js'
import type { Authorize } from './server/access.js'
import type { Limiters } from './watched.js'

/** Options of `dashboard()`. */
export interface DashboardOptions {
  /** What to show, with its stores: limiters, middleware that has one, `overload()`,
   *  `livePolicies()`; or a function that returns the current ones. */
  readonly limiters: Limiters
  /**
   * Who may see the page. Called for each request except those for scripts and styles; if it
   * throws, the request is refused with 500, and if it does not answer within 5 s, with 503.
   * Default: the page asks for a token, which is printed at the start.
   *
   * @example authorize: (request: express.Request) => request.user?.isAdmin && request.user
   */
  readonly authorize?: Authorize | undefined
  /** True: viewers may change limits, reset and block keys, and switch limiters off, unless
   *  `authorize` says `mayAct: false`. Default false. */
  readonly actions?: boolean | undefined
  /** True: keys are shown whole. Default false: only their start and a mark. */
  readonly showKeys?: boolean | undefined
  /** The page's path below the framework's mount, such as `'/weir'`, for servers without mounts:
   *  Koa, `node:http`, Fetch. */
  readonly path?: string | undefined
  /** Called after each action, done or attempted, with the whole `key` that it was about. */
  readonly onAction?:
    | ((note: ActionNote & { readonly key?: string | undefined }) => void)
    | undefined
  /** Prints the token at the start, and once if one of your functions fails. Default
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
