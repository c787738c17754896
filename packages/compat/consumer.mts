// Weir's stores in other limiters, by the types that those expect.
import { weirStorage as ofBetterAuth } from '@weir/compat/better-auth'
import { weirStore as ofExpress } from '@weir/compat/express-rate-limit'
import { weirStore as ofFastify } from '@weir/compat/fastify-rate-limit'
import { weirStore as ofHono } from '@weir/compat/hono-rate-limiter'
import { weirDb as ofKoa } from '@weir/compat/koa-ratelimit'
import { weirStorage as ofNest } from '@weir/compat/nest-throttler'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from '@weir/compat/rate-limiter-flexible'
import { memoryStore } from '@weir/core'

const store = memoryStore()
export const hits: Promise<{ totalHits: number }> = ofExpress(store, { name: 'a' }).increment('k')
export const others: unknown[] = [ofHono(store, { limit: 5 }), new (ofFastify(store))({ ban: 1 })]
export const blocked: Promise<{ isBlocked: boolean }> = ofNest(store).increment('k', 1, 1, 0, 'n')
export const allowed: Promise<{ allowed: boolean }> = ofBetterAuth(store).consume('k', {
  window: 1,
  max: 1,
})
const rules = { points: 5, duration: 60 }
export const flexible = new RateLimiterRedis({
  ...{ storeClient: store, keyPrefix: 'a', ...rules, blockDuration: 60 },
  insuranceLimiter: new RateLimiterMemory(rules),
})
export const left: Promise<number> = flexible.consume('k', 2).then(
  ({ remainingPoints }) => remainingPoints,
  (reason) => (reason instanceof RateLimiterRes ? 0 : Promise.reject(reason)),
)

/** The type that koa-ratelimit expects. */
interface Client {
  ping(): Promise<string>
}
export const options: { db: Client | Map<string, string> } = { db: ofKoa(store) }
export const leftOfKoa: Promise<[number, number, number]> = ofKoa(store).ratelimiter('k', 0, 1, 1)

// @ts-expect-error a limiter has points
new RateLimiterMemory({ duration: 60 })
// @ts-expect-error an unknown algorithm
ofExpress(store, { algorithm: 'token-bucket' })
// @ts-expect-error a URL is not a store
ofExpress('redis://localhost')
