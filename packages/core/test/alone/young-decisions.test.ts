// Where V8 allocates decisions, and calls, after many were in flight at once. In a separate file,
// since it must begin with code that is not optimized yet.

import { setFlagsFromString } from 'node:v8'
import { expect, test } from 'vitest'
import { type HttpAdapter, httpLimiter, type RequestDecision } from '../../src/http/index.js'
import { fixedWindow } from '../../src/index.js'
import {
  argumentsOf,
  JoinedEntry,
  OpenCall,
  prepareScript,
} from '../../src/redis/transport/call.js'
import { keyFormat } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'

interface Request {
  readonly address: string
  carried?: RequestDecision
}

const adapter: HttpAdapter<Request, object> = {
  address: (request) => request.address,
  peer: (request) => request.address,
  trust: () => 'nobody',
  method: () => 'GET',
  header: () => undefined,
  placed: (request) => request.carried,
  place: (request, decision) => {
    request.carried = decision
  },
  headersSent: () => false,
  setHeader: () => undefined,
  afterResponse: () => undefined,
}

/** Requests in flight at once; V8 decides by the first 100 objects from unoptimized code. */
const BURST = 5_000
const LATER = 20_000

setFlagsFromString('--allow-natives-syntax')
const isYoung = new Function('object', 'return %InYoungGeneration(object)') as (
  object: unknown,
) => boolean

test('decisions are freed by minor collections, even after a burst of slow answers', () => {
  const { check } = httpLimiter<Request, object>({ limit: 1, window: '1h' }, adapter)
  let count = 0
  const decided = (): RequestDecision => {
    // Every second request of an address is denied.
    const request: Request = { address: `10.0.${count >> 9}.${(count >> 1) % 256}` }
    count += 1
    void check(request, {})
    return request.carried as RequestDecision
  }
  fillNewSpace()
  const inFlight = Array.from({ length: BURST }, decided)
  for (let i = 0; i < LATER; i += 1) decided()

  const old = new Set<string>()
  for (let i = 0; i < 10; i += 1) {
    for (const [what, part] of Object.entries(partsOf(decided()))) if (!isYoung(part)) old.add(what)
  }
  expect([...old]).toEqual([])
  expect(inFlight).toHaveLength(BURST)
})

test('arguments of calls are freed as early after such a burst', () => {
  const policySet = makePolicySet('a', [fixedWindow({ limit: 1, window: '1h' })])
  const prepared = prepareScript(keyFormat('weir'), policySet)
  const pending = { decided() {}, failed() {} }
  let count = 0
  const made = (): string[] => {
    const target = { policySet, key: `k${count}` }
    count += 1
    const entry = new JoinedEntry({ mode: 'consume', target, costs: [1], count: 1 }, pending)
    return argumentsOf(new OpenCall(prepared, 0, 'consume', undefined, entry, undefined))
  }
  fillNewSpace()
  // They are smaller than decisions, and V8 decides in a collection.
  const inFlight = Array.from({ length: 8 * BURST }, made)
  for (let i = 0; i < 4 * LATER; i += 1) made()

  expect(isYoung(made())).toBe(true)
  expect(inFlight).toHaveLength(8 * BURST)
})

/** V8 decides about literals only while its space for new objects has its full size. */
function fillNewSpace(): void {
  const kept: string[] = []
  for (let i = 0; i < 1_000_000; i += 1) kept.push(`kept ${i}`)
}

function partsOf(carried: RequestDecision): Record<string, unknown> {
  const [decision] = carried.all
  const { request, result } = (decision?.allowed ? decision.receipt : undefined) ?? {}
  const { policies } = carried
  const parts = { carried, all: carried.all, decision, policies, policy: policies[0] }
  if (request === undefined || result === undefined) return parts
  return { ...parts, request, target: request.target, result, untilUs: result.untilUs }
}
