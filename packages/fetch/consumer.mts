// Applications over Fetch, compiled with the packed package: what is inferred, and what does not
// compile.
import {
  type Client,
  clientAddress,
  decisionOf,
  duration,
  honoMiddleware,
  limitTools,
  memoryStore,
  RateLimiter,
  type RateLimitSettings,
  rateLimit,
  respond,
  slidingWindow,
  unlimited,
} from '@weir/fetch'

const small = slidingWindow({ limit: 5, window: '1h' })
const limit = rateLimit({
  policy: (request) => (request.headers.get('x-plan') === 'pro' ? unlimited() : small),
  key: (request, { address }) => request.headers.get('x-api-key') ?? address,
  cost: (request) => request.url.length,
  refundWhen: (request, { status, finished }, client) =>
    finished && status >= 500 && request.method === 'GET' && client.address !== undefined,
  onDenied: ({ retryAfterMs }) => new Response(`in ${retryAfterMs} ms`, { status: 429 }),
})

export async function handle(request: Request, client: Client): Promise<Response> {
  const refused: Response | undefined = await limit(request, client)
  const left: number | undefined = decisionOf(request)?.remaining
  return refused ?? respond(request, Response.json({ left }))
}

// What the caller knows of a client reaches the functions.
type User = { readonly address: string; readonly user: { readonly id: string } }
const perUser = rateLimit<User>({ limit: 10, window: '1m', key: (_, { user }) => user.id })
// @ts-expect-error without the user
void perUser.handle(new Request('http://weir.test'), { address: '' }, () => new Response())

// A framework's own context, as Hono's.
interface Context {
  readonly req: { readonly raw: Request }
  readonly env: { readonly incoming: { readonly socket: { readonly remoteAddress?: string } } }
  readonly finalized: boolean
  res: Response
  get(name: 'user'): User['user']
}
declare function use(handler: (c: Context, next: () => Promise<void>) => Promise<unknown>): void
use(honoMiddleware(limit, (c) => clientAddress.node(c.env)))
use(honoMiddleware(perUser, (c: Context) => ({ address: '', user: c.get('user') })))

// Settings that several limiters share.
const shared: RateLimitSettings = { headers: 'legacy', store: memoryStore() }
rateLimit({ ...shared, limit: 1, window: duration(String(process.env.WINDOW)) })

// @ts-expect-error neither a policy nor a limit
rateLimit({})
// @ts-expect-error either a policy or a limit
rateLimit({ limit: 1, window: '1s', policy: small })
// @ts-expect-error an unknown option
rateLimit({ limit: 1, window: '1s', max: 5 })
// @ts-expect-error a string is not a cost
rateLimit({ limit: 1, window: '1s', cost: (request) => request.url })

interface Server {
  registerTool<Args>(
    name: string,
    config: { inputSchema?: Args },
    run: (args: Args) => unknown,
  ): void
}
declare const server: Server
const limiter = new RateLimiter({ policy: small })
limitTools(server, { limiter, cost: (tool) => (tool === 'search' ? 5 : 1) })
limitTools(server, { limiter, tools: ['search'], key: ({ sessionId }) => String(sessionId) })
// @ts-expect-error a tool costs a number, or numbers by policy name
limitTools(server, { limiter, cost: () => 'much' })
