// Limits of tools, for servers of the Model Context Protocol: a call that is refused has a result
// that a model can act on.

import type { Cost, Denied, RateLimiter } from '@weir/core'
import { NO_KEY, warnOnce } from '@weir/core/internal'

interface Authenticated {
  readonly clientId: string
  readonly extra?: Readonly<Record<string, unknown>> | undefined
}

/** The part that is read of the context that handlers of tools get, in both majors of the SDK. */
export interface ToolCall {
  readonly sessionId?: string | undefined
  /** SDK 1. */
  readonly authInfo?: Authenticated | undefined
  /** SDK 1, over HTTP. */
  readonly requestInfo?: unknown
  /** SDK 2, over HTTP. */
  readonly http?:
    | { readonly authInfo?: Authenticated | undefined; readonly req?: unknown }
    | undefined
}

/** How tools are limited. */
export interface ToolLimit<Call extends ToolCall = ToolCall> {
  readonly limiter: RateLimiter
  /** The names of the tools that are limited. Default: all. */
  readonly tools?: readonly string[] | undefined
  /** What a call costs. Default 1. */
  readonly cost?: ((tool: string, args: unknown) => Cost) | undefined
  /** Who calls. Default: the authenticated client, else the session; without either, all callers
   *  share one bucket. */
  readonly key?: ((call: Call, tool: string) => string) | undefined
}

/** The part of an `McpServer` that is used, of both majors of the SDK. */
export interface ToolServer {
  registerTool(...args: never[]): unknown
  /** SDK 1. */
  tool?(...args: never[]): unknown
}

interface Refused {
  readonly isError: true
  readonly content: [{ readonly type: 'text'; readonly text: string }]
  readonly _meta: Readonly<Record<string, unknown>>
}

type Handle = (...args: unknown[]) => unknown

/**
 * Limits the tools that are registered from now on. The result of a refused call has `isError`, a
 * text that says how long to wait, and that time as `_meta['weir/retryAfterMs']`.
 * @example
 * const policy = slidingWindow({ limit: 30, window: '1m' })
 * const limiter = new RateLimiter({ name: 'tools', policy })
 * limitTools(server, { limiter, cost: (tool) => (tool === 'search' ? 5 : 1) })
 */
export function limitTools<Call extends ToolCall = ToolCall>(
  server: ToolServer,
  { limiter, tools, cost, key }: ToolLimit<Call>,
): void {
  function limited(tool: string, handle: Handle): Handle {
    return async (...args) => {
      // A tool without arguments gets only the context.
      const call = args.at(-1) as Call
      const caller = key === undefined ? callerOf(call, limiter.name) : key(call, tool)
      const input = args.length > 1 ? args[0] : undefined
      const decision = await limiter.consume(caller, { cost: cost?.(tool, input) })
      return decision.allowed ? handle(...args) : refused(tool, decision)
    }
  }
  for (const method of ['registerTool', 'tool'] as const) {
    const register = server[method] as Handle | undefined
    if (register === undefined) continue
    // The handler comes last, after what describes the tool.
    server[method] = (name: string, ...rest: unknown[]) => {
      const handle = rest.pop() as Handle
      const isLimited = tools === undefined || tools.includes(name)
      return register.call(server, name, ...rest, isLimited ? limited(name, handle) : handle)
    }
  }
}

function callerOf({ authInfo, http, requestInfo, sessionId }: ToolCall, limiter: string): string {
  const client = authInfo ?? http?.authInfo
  if (client !== undefined) return `client:${client.clientId}`
  if (sessionId !== undefined) return `session:${sessionId}`
  // Over stdio there is one client.
  if (http !== undefined || requestInfo !== undefined) {
    const what = `a call of a tool has neither authInfo nor a session, for limiter "${limiter}"`
    warnOnce('WEIR_NO_KEY', limiter, `${what}; all such calls share one bucket; give key`)
  }
  return NO_KEY
}

function refused(tool: string, { reason, retryAfterMs }: Denied): Refused {
  const what =
    reason === 'store-unavailable' || reason === 'policy-failed'
      ? `Calls of the tool "${tool}" cannot be counted at present.`
      : `The rate limit of the tool "${tool}" is used up.`
  const isNever = !Number.isFinite(retryAfterMs)
  const then = isNever ? never(reason) : waiting(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
  return {
    isError: true,
    content: [{ type: 'text', text: `${what} ${then}` }],
    _meta: isNever ? {} : { 'weir/retryAfterMs': retryAfterMs },
  }
}

/** A budget that is used up has the reason `limit`. */
function never(reason: Denied['reason']): string {
  return reason === 'cost-exceeds-limit'
    ? 'This call takes more than the limit ever allows. Do not repeat it; ask for less.'
    : 'No waiting helps. Do not call it again.'
}

function waiting(seconds: number): string {
  return `Wait ${seconds} second${seconds === 1 ? '' : 's'} before you call it again.`
}
