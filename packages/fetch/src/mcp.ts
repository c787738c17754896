// Limits of tools, for servers of the Model Context Protocol: a call that is refused has a result
// that a model can act on.

import type { Cost, Denied, Key, RateLimiter } from '@weir/core'
import { type Awaitable, settleAs } from '@weir/core/http'
import {
  type Checks,
  checkAll,
  heldOf,
  invalid,
  isKey,
  NO_KEY,
  ofType,
  quote,
  warnOnce,
} from '@weir/core/internal'

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

/** The caller of a tool, alike in both majors of the SDK. */
export interface ToolCaller<Call extends ToolCall = ToolCall> {
  /** What the server has found out by the call's token. */
  readonly authInfo: Authenticated | undefined
  readonly sessionId: string | undefined
  /** What the tool's handler gets besides its arguments; it differs between the majors. */
  readonly context: Call
}

/** How tools are limited. */
export interface ToolLimit<Call extends ToolCall = ToolCall> {
  readonly limiter: RateLimiter
  /** The names of the tools that are limited. Default: all. */
  readonly tools?: readonly string[] | undefined
  /** What a call costs. Default 1. */
  readonly cost?: ((tool: string, args: unknown) => Cost) | undefined
  /** What a call has cost after all, by the tool's result (undefined: it threw). Without the
   *  option, or where it returns undefined, the cost stays. */
  readonly settle?:
    | ((tool: string, result: unknown, args: unknown) => Awaitable<Cost | undefined>)
    | undefined
  /** Returns who calls: a text, a whole number or a promise of one. Default, also with a warning
   *  for anything else: the authenticated client, else the session; without either, all callers
   *  share one bucket. */
  readonly key?: ((caller: ToolCaller<Call>, tool: string) => unknown) | undefined
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

/** What the SDK returns of a registered tool. */
type Registered =
  | { update?: ((changes: { readonly callback?: Handle }) => unknown) | undefined }
  | undefined

const CHECKS: Checks<ToolLimit> = {
  limiter(value, name) {
    if (typeof (value as Partial<RateLimiter> | undefined)?.consume === 'function') return
    throw invalid('WEIR_INVALID_OPTION', name, value, 'a RateLimiter')
  },
  tools(value, name) {
    if (!Array.isArray(value)) throw invalid('WEIR_INVALID_OPTION', name, value, 'names of tools')
  },
  cost: ofType('function'),
  settle: ofType('function'),
  key: ofType('function'),
}

/**
 * Limits the tools that are registered from now on. The result of a refused call has `isError`, a
 * text that says how long to wait, and that time as `_meta['weir/retryAfterMs']`. A call holds its
 * slots, and the estimates of budgets, until its tool has ended.
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example
 * const policy = slidingWindow({ limit: 30, window: '1m' })
 * const limiter = new RateLimiter({ name: 'tools', policy })
 * limitTools(server, { limiter, cost: (tool) => (tool === 'search' ? 5 : 1) })
 */
export function limitTools<Call extends ToolCall = ToolCall>(
  server: ToolServer,
  options: ToolLimit<Call>,
): void {
  checkAll(options, 'limitTools()', CHECKS)
  CHECKS.limiter(options.limiter, 'limiter')
  const { limiter, tools, cost, settle, key } = options
  if (typeof server?.registerTool !== 'function')
    throw invalid('WEIR_INVALID_OPTION', 'server', server, 'an McpServer')
  function limited(tool: string, handle: Handle): Handle {
    return async (...args) => {
      // A tool without arguments gets only the context.
      const context = args.at(-1) as Call
      const input = args.length > 1 ? args[0] : undefined
      const caller = await keyOf(context, tool)
      const decision = await limiter.consume(caller, { cost: cost?.(tool, input) })
      if (!decision.allowed) return refused(tool, tools?.length === 1, decision)
      const held = heldOf(limiter, decision)
      let result: unknown
      try {
        result = await handle(...args)
        return result
      } finally {
        void settleAs(() => settle?.(tool, result, input), limiter, decision)
        held?.release().catch(() => {})
      }
    }
  }
  async function keyOf(context: Call, tool: string): Promise<Key> {
    const { sessionId, authInfo = context.http?.authInfo } = context
    const found = await key?.({ authInfo, sessionId, context }, tool)
    if (isKey(found)) return found
    if (key !== undefined) {
      const what = `key of limiter "${limiter.name}" gave ${quote(found)}`
      const right = 'neither a text nor a whole number; the client or its session is limited'
      warnOnce('WEIR_NO_KEY', limiter.name, `${what}, ${right}`)
    }
    if (authInfo !== undefined) return `client:${authInfo.clientId}`
    if (sessionId !== undefined) return `session:${sessionId}`
    warnOfShared(context, limiter.name)
    return NO_KEY
  }
  for (const method of ['registerTool', 'tool'] as const) {
    const register = server[method] as Handle | undefined
    if (register === undefined) continue
    // The handler comes last, after what describes the tool.
    server[method] = (name: string, ...rest: unknown[]) => {
      const handle = rest.pop() as Handle
      if (tools !== undefined && !tools.includes(name))
        return register.call(server, name, ...rest, handle)
      const tool = register.call(server, name, ...rest, limited(name, handle)) as Registered
      const update = tool?.update
      if (tool === undefined || update === undefined) return tool
      tool.update = ({ callback, ...changes }) =>
        update.call(tool, callback ? { ...changes, callback: limited(name, callback) } : changes)
      return tool
    }
  }
}

/** Over stdio there is one client. */
function warnOfShared({ http, requestInfo }: ToolCall, limiter: string): void {
  if (http === undefined && requestInfo === undefined) return
  const what = `a call of a tool has neither authInfo nor a session, for limiter "${limiter}"`
  warnOnce('WEIR_NO_KEY', limiter, `${what}; all such calls share one bucket; give key`)
}

/** @param isItsOwn whether the limit is of this tool alone */
function refused(tool: string, isItsOwn: boolean, { reason, retryAfterMs }: Denied): Refused {
  const of = isItsOwn ? `the tool "${tool}"` : 'tool calls'
  const what =
    reason === 'store-unavailable' || reason === 'policy-failed'
      ? `Calls of the tool "${tool}" cannot be counted at present.`
      : `The rate limit of ${of} is used up.`
  const isNever = !Number.isFinite(retryAfterMs)
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const then = isNever ? never(reason) : waiting(seconds, isItsOwn ? 'it' : `"${tool}"`)
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

function waiting(seconds: number, tool: string): string {
  return `Wait ${seconds} second${seconds === 1 ? '' : 's'} before you call ${tool} again.`
}
