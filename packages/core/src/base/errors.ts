// Every error that Weir throws has a stable `code`, explained in docs/errors.md. A denial is never
// an error.

/** The `code` of a Weir error. */
export type ErrorCode =
  | 'WEIR_INVALID_DURATION'
  | 'WEIR_INVALID_POLICY'
  | 'WEIR_INVALID_NAME'
  | 'WEIR_INVALID_OPTION'
  | 'WEIR_INVALID_CLOCK'
  | 'WEIR_INVALID_KEY'
  | 'WEIR_INVALID_COST'
  | 'WEIR_INVALID_PRIORITY'
  | 'WEIR_INVALID_RECEIPT'
  | 'WEIR_FOREIGN_KEY'
  | 'WEIR_STORE_FAILED'
  | 'WEIR_NO_SCRIPTS'
  | 'WEIR_POLICY_FAILED'
  | 'WEIR_NAME_CLASH'
  | 'WEIR_NOT_ENFORCED'
  | 'WEIR_CLOSED'
  | 'WEIR_HOLD_ENDED'
  | 'WEIR_TOO_MANY_OVERRIDES'

/** A Weir error as `catch` sees it: one of the native error classes, with a code to switch on. */
export interface CodedError extends Error {
  readonly code: ErrorCode
}

/**
 * Adds the page that explains the code to a message, unless the message names a page. Packing turns
 * every page that a message names into a link: see tools/release/links.mjs.
 */
export function withPage(code: string, message: string): string {
  if (message.includes('docs/')) return message
  return `${message} (see docs/errors.md#${code.toLowerCase()})`
}

/**
 * An error about a value that was passed in: "<what> is <value>; give <right>".
 * @param type what `typeof` returns for right values; a value of another type is a TypeError
 */
export function invalid(
  code: ErrorCode,
  what: string,
  value: unknown,
  right: string,
  type?: string,
): CodedError {
  const make = typeof value === type ? rangeError : typeError
  return make(code, `${what} is ${quote(value)}; give ${right}`)
}

/** An error about a value of the right type but out of range, thrown where the value enters. */
export function rangeError(code: ErrorCode, message: string): RangeError & CodedError {
  return Object.assign(new RangeError(withPage(code, message)), { code })
}

/** An error about a value of the wrong type, thrown where the value enters. */
export function typeError(code: ErrorCode, message: string): TypeError & CodedError {
  return Object.assign(new TypeError(withPage(code, message)), { code })
}

/**
 * The store could not decide: `WEIR_FOREIGN_KEY` when the key holds something that Weir did not
 * write (Weir leaves it unchanged), `WEIR_NO_SCRIPTS` when the server runs no Lua scripts,
 * `WEIR_STORE_FAILED` when the server or the connection failed; `cause` is the client's error.
 */
export class StoreError extends Error implements CodedError {
  override readonly name = 'StoreError'
  readonly code: ErrorCode
  constructor(
    code: 'WEIR_FOREIGN_KEY' | 'WEIR_NO_SCRIPTS' | 'WEIR_STORE_FAILED',
    message: string,
    options?: { cause: unknown },
  ) {
    super(withPage(code, message), options)
    this.code = code
  }
}

/** A closed store does not start again with empty counters. */
export function storeClosed(): StoreError {
  return new StoreError('WEIR_STORE_FAILED', 'the store is closed; make a new one')
}

/**
 * Any value as short, quoted, printable ASCII: keys and options come from outside and must not
 * forge log lines. An object is named by its kind. A URL is cut to its scheme, as it may hold a
 * password, and so is what clients make of a URL whose scheme they do not know: a path with an `@`.
 */
export function quote(value: unknown): string {
  if (typeof value === 'bigint') return `${String(value).slice(0, 64)}n`
  if (typeof value === 'string') return `"${printable(value)}"`
  try {
    if (typeof value === 'function') return printable(`a function ${value.name}`.trim())
    if (typeof value === 'object' && value !== null) return kindOf(value)
    return printable(String(value))
  } catch {
    // A proxy, or a getter or toString that throws.
    return 'an object'
  }
}

/** Names an object by what tells it from other objects that users pass in. */
function kindOf(value: object): string {
  if (Array.isArray(value)) {
    const shown = value.slice(0, 3).map((one) => (Array.isArray(one) ? 'an array' : quote(one)))
    return `[${[...shown, ...(value.length > 3 ? ['...'] : [])].join(', ')}]`
  }
  if (value instanceof Error || value instanceof Date || value instanceof RegExp)
    return printable(String(value))
  const { name, algorithm: kind, callBuffer, sendCommand, then } = value as Record<string, unknown>
  if (typeof kind === 'string' && typeof name === 'string') {
    const factory = kind.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    return `${printable(factory)} ${quote(name)}`
  }
  if (typeof callBuffer === 'function' || typeof sendCommand === 'function') return 'a Redis client'
  if (typeof then === 'function') return 'a promise'
  const made: unknown = Object.getPrototypeOf(value)?.constructor?.name
  if (typeof made === 'string' && made !== '' && made !== 'Object') return printable(`a ${made}`)
  const names = Object.keys(value)
  return names.length === 0 ? '{}' : printable(`{ ${names.join(', ')} }`)
}

/** How much of a text is looked at. */
const LONGEST = 1_000

function printable(text: string): string {
  // An address that is cut may lack the `@` by which it is found.
  const path = text.length > LONGEST ? /\/\S*(@\S*|$)/g : /\/\S*@\S*/g
  const open = text
    .slice(0, LONGEST)
    .replace(/(\/\/+)(?:.*@)?\S*/gs, '$1…')
    .replace(path, '/…')
  const cut = open.length > 64 ? `${open.slice(0, 64)}…` : open
  return cut.replace(/[^\x20-\x7e…]|["\\]/g, (unit) => {
    return unit === '"' || unit === '\\'
      ? `\\${unit}`
      : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
