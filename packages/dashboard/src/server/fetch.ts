// The page for servers that use `Request` and `Response`.

import { invalidRequest } from '../act/problem.js'
import { checkLength, jsonOf } from './body.js'
import type { Answer, PageRequest, Reader } from './exchange.js'
import { placeOf } from './place.js'
import { answerTo, type Serving } from './routes.js'

export type FetchHandler = (request: Request) => Promise<Response>

export function fetchHandler(serving: Serving, path: string): FetchHandler {
  return async (request) =>
    responseOf(await answerTo(serving, pageRequestOf(request, path)), request)
}

function pageRequestOf(request: Request, path: string): PageRequest {
  const { pathname, search, host, protocol } = new URL(request.url)
  const place = placeOf(pathname + search, undefined, path)
  const { headers } = request
  return {
    ...(place ?? { base: '', path: '?', query: '' }),
    method: request.method,
    isSecure: protocol === 'https:' || /^https\b/i.test(headers.get('x-forwarded-proto') ?? ''),
    original: request,
    header: (name) => headers.get(name) ?? (name === 'host' ? host : undefined),
    async json() {
      if (request.bodyUsed) throw invalidRequest('the body was read before the page was asked')
      checkLength(headers.get('content-length'))
      return jsonOf(request.body ?? none())
    },
  }
}

async function* none(): AsyncGenerator<Uint8Array> {}

function responseOf(answer: Answer, { method, signal }: Request): Response {
  const { status, headers } = answer
  if ('open' in answer) return new Response(streamOf(answer.open, signal), { status, headers })
  const hasBody = method !== 'HEAD' && status !== 304
  return new Response(hasBody ? answer.body : null, { status, headers })
}

function streamOf(
  open: (reader: Reader) => () => void,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave = (): void => {}
  let isOver = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = (): void => {
          if (isOver) return
          isOver = true
          controller.close()
          leave()
        }
        leave = open({
          send(text) {
            if (isOver || (controller.desiredSize ?? 0) <= 0) return false
            controller.enqueue(encoder.encode(text))
            return true
          },
          end,
        })
        signal.addEventListener('abort', end, { once: true })
        if (signal.aborted) end()
      },
      // A server may cancel the body and abort the request, in either order.
      cancel() {
        isOver = true
        leave()
      },
    },
    { highWaterMark: 1 },
  )
}
