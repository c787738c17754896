// Turns the server's errors, as GLIDE reports them, back into what the server said.

/** GLIDE has names of its own for errors that it knows, and passes others on as `OOM: ...`. */
const KNOWN = /^An error was signalled by the server:? ?- (\w+): (.*)$/s
const OTHER = /^([A-Z]+): (.*)$/s

/** Names that are not just the server's code in another spelling. */
const CODES: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  BusyLoadingError: 'LOADING',
  PermissionDenied: 'NOPERM',
}

/** The server's error reply, with its code; undefined: the error is GLIDE's own. */
export function replyOf(error: Error): Error | undefined {
  const known = KNOWN.exec(error.message)
  const [, name = '', text] = known ?? OTHER.exec(error.message) ?? []
  if (text === undefined) return undefined
  const reply = new Error(`${CODES[name] ?? codeOf(name)} ${text}`, { cause: error })
  reply.name = 'ReplyError'
  return reply
}

/** `NOSCRIPT` of `NoScriptError`. */
function codeOf(name: string): string {
  return name.replace(/Error$/, '').toUpperCase()
}
